/** The store of model files: how full, and what in it nobody needs. */
import { Button } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { collectStorage, storageQuery } from "@/api/installation";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { LoadProblem } from "@/components/forbidden";
import { bytes, counted } from "@/components/format";
import { Meter } from "@/components/meter";
import { notifyDone } from "@/components/notify";
import { RoleNote } from "@/components/role-note";
import { SkeletonRows } from "@/components/skeleton";
import { collectRecipe } from "../recipes";
import classes from "./settings.module.css";

export function StoragePage() {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(storageQuery());
  const refusal = useRefusal("administer");
  const [asking, setAsking] = useState(false);
  if (error && !data) return <LoadProblem error={error} what="The storage" needs="read" onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading the storage" />;
  return (
    <div className={classes["stack"]}>
      <RoleNote needs="administer" to="remove unused files" />
      <Card
        title="Model files"
        hint="each content is kept once, however many versions name it"
        actions={
          <>
            <AsCodeButton recipe={collectRecipe} />
            <Button
              variant="default"
              leftSection={<IconTrash size={15} />}
              disabled={refusal !== undefined || data.unused_blobs === 0}
              title={refusal}
              onClick={() => setAsking(true)}
            >
              Remove unused files
            </Button>
          </>
        }
      >
        <Meter
          label={counted(data.blobs, "file")}
          share={data.bytes > 0 ? data.unused_bytes / data.bytes : 0}
          text={`${bytes(data.bytes)}, of which ${bytes(data.unused_bytes)} unused`}
        />
        <dl className={`${classes["facts"]} ${classes["after"]}`}>
          <div>
            <dt>In use</dt>
            <dd>
              {counted(data.blobs - data.unused_blobs, "file")}, {bytes(data.bytes - data.unused_bytes)}
            </dd>
          </div>
          <div>
            <dt>Unused</dt>
            <dd>
              {counted(data.unused_blobs, "file")}, {bytes(data.unused_bytes)}; removed by themselves a day after nothing names them
            </dd>
          </div>
        </dl>
      </Card>
      <ConfirmModal
        opened={asking}
        onClose={() => setAsking(false)}
        title="Remove unused files"
        confirmLabel="Remove them"
        onConfirm={async () => {
          const { removed } = await collectStorage();
          await queryClient.invalidateQueries({ queryKey: keys.storage });
          notifyDone(removed === 0 ? "Nothing was old enough to remove" : `${counted(removed, "file")} removed`);
        }}
      >
        <p>Files that no model version has named for a day are removed now. No version loses anything.</p>
      </ConfirmModal>
    </div>
  );
}

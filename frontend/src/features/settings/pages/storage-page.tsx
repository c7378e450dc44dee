/** The store of model files: how full, and what in it nobody needs. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
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
import { bytes } from "@/components/format";
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
  if (error && !data) return <LoadProblem error={error} what={t`The storage`} needs="read" onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label={t`Loading the storage`} />;
  const unused = bytes(data.unused_bytes);
  return (
    <div className={classes["stack"]}>
      <RoleNote needs="administer" to={t`remove unused files`} />
      <Card
        title={t`Model files`}
        hint={t`each content is kept once, however many versions name it`}
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
              <Trans>Remove unused files</Trans>
            </Button>
          </>
        }
      >
        <Meter
          label={plural(data.blobs, { one: "# file", other: "# files" })}
          share={data.bytes > 0 ? data.unused_bytes / data.bytes : 0}
          text={t`${bytes(data.bytes)}, of which ${unused} unused`}
        />
        <dl className={`${classes["facts"]} ${classes["after"]}`}>
          <div>
            <dt>
              <Trans>In use</Trans>
            </dt>
            <dd>
              {plural(data.blobs - data.unused_blobs, { one: "# file", other: "# files" })}, {bytes(data.bytes - data.unused_bytes)}
            </dd>
          </div>
          <div>
            <dt>
              <Trans>Unused</Trans>
            </dt>
            <dd>
              {t`${plural(data.unused_blobs, { one: "# file", other: "# files" })}, ${unused}; removed by themselves a day after nothing names them`}
            </dd>
          </div>
        </dl>
      </Card>
      <ConfirmModal
        opened={asking}
        onClose={() => setAsking(false)}
        title={t`Remove unused files`}
        confirmLabel={t`Remove them`}
        onConfirm={async () => {
          const { removed } = await collectStorage();
          await queryClient.invalidateQueries({ queryKey: keys.storage });
          notifyDone(
            removed === 0 ? t`Nothing was old enough to remove` : plural(removed, { one: "# file removed", other: "# files removed" }),
          );
        }}
      >
        <p>
          <Trans>Files that no model version has named for a day are removed now. No version loses anything.</Trans>
        </p>
      </ConfirmModal>
    </div>
  );
}

/** The words about an endpoint. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { Card } from "@/components/card";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { OvertakenNote, useSaving } from "@/components/saving";
import classes from "./settings.module.css";

export function DescriptionCard({ endpoint }: { endpoint: Endpoint }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const shownBy = keys.endpoints.one(endpoint.name);
  const saving = useSaving({ thing: endpoint, part: ({ description }) => description, shownBy });
  const save = async (description: string, { etag }: Endpoint) => {
    queryClient.setQueryData(shownBy, await updateEndpoint(endpoint.name, { description }, etag));
    notifyDone(t`The description is saved`);
  };
  return (
    <Card title={t`Description`}>
      <Textarea
        aria-label={t`Description`}
        autosize
        minRows={2}
        maxRows={8}
        disabled={refusal !== undefined}
        value={saving.draft}
        onChange={(event) => saving.edit(event.currentTarget.value)}
      />
      <OvertakenNote saving={saving} now={({ description }) => <p className={classes["words"]}>{description || t`No description.`}</p>} />
      {saving.error ? <ProblemCard error={saving.error} title={t`The description could not be saved`} /> : null}
      <div className={classes["actions"]}>
        <RefusingButton
          needs="deploy"
          disabled={!saving.changed || saving.overtaken !== null}
          loading={saving.pending}
          onClick={() => saving.send(save)}
        >
          <Trans>Save the description</Trans>
        </RefusingButton>
      </div>
    </Card>
  );
}

/** One deploy, running or finished: stages, log, result. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { keys } from "@/api/keys";
import { apiPath } from "@/api/paths";
import { cancelOperation, isFinished, operationQuery, retryOperation } from "@/api/operations";
import type { Operation } from "@/api/types";
import { paths } from "@/app/paths";
import { AsCodeButton, type Recipe } from "@/components/as-code";
import { Card } from "@/components/card";
import { elapsed } from "@/components/format";
import { KIND_WORDS } from "@/components/operation-titles";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { useLiveState, useOperationUpdates } from "@/live/hooks";
import shared from "../deploy.module.css";
import classes from "./operation-page.module.css";
import { Deadline } from "../result/deadline";
import { DeployFailure } from "../result/deploy-failure";
import { DeploySuccess } from "../result/deploy-success";
import { LogTail } from "../result/log-tail";
import { StageList } from "../steps/stage-list";

const route = getRouteApi("/app/deploy/$id");

export function OperationPage() {
  const { id } = route.useParams();
  useOperationUpdates(id);
  const link = useLiveState();
  const { data, error, refetch } = useQuery({
    ...operationQuery(id),
    // The socket tells changes at once; without it, and to be safe with it, the row is asked.
    refetchInterval: (query) => (query.state.data && isFinished(query.state.data) ? false : link === "live" ? 5_000 : 1_000),
  });
  usePageTitle(data?.endpoint ?? t`Deploy`, t`Deploy`);
  if (!data) {
    return error ? (
      <ProblemCard error={error} title={t`This operation cannot be shown`} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={8} label={t`Loading the operation`} />
    );
  }
  return <OperationView operation={data} />;
}

function titleOf({ kind, deployment, endpoint }: Operation): string {
  if (!endpoint) return KIND_WORDS[kind];
  switch (kind) {
    case "deploy":
      return deployment ? t`Deploy ${deployment} to ${endpoint}` : t`Deploy ${endpoint}`;
    case "scale":
      return deployment ? t`Scale ${deployment} of ${endpoint}` : t`Scale ${endpoint}`;
    case "delete-deployment":
      return deployment ? t`Delete ${deployment} of ${endpoint}` : t`Delete ${endpoint}`;
    case "delete-endpoint":
      return t`Delete endpoint ${endpoint}`;
  }
}

/** Following it and stopping it while it runs; doing the same again once it has failed. */
function operationRecipe(operation: Operation): Recipe {
  const { id, state } = operation;
  const show = { method: "GET", path: apiPath("operations", id), note: t`Its stages` } as const;
  if (!isFinished(operation)) {
    return {
      title: titleOf(operation),
      cli: [
        ["shoal", "operation", "watch", id],
        ["shoal", "operation", "cancel", id],
      ],
      api: [show, { method: "POST", path: apiPath("operations", id, "cancel"), note: t`Stop it` }],
    };
  }
  const again = { method: "POST", path: apiPath("operations", id, "retry"), note: t`The same again` } as const;
  return { title: titleOf(operation), cli: [["shoal", "operation", "show", id]], api: state === "Succeeded" ? [show] : [show, again] };
}

function OperationView({ operation }: { operation: Operation }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const cancel = useMutation({
    mutationFn: () => cancelOperation(operation.id),
    onSuccess: (next) => queryClient.setQueryData(keys.operations.one(operation.id), next),
  });
  const retry = useMutation({
    mutationFn: (how?: { skipGolden?: boolean }) => retryOperation(operation.id, how),
    onSuccess: (next) => {
      queryClient.setQueryData(keys.operations.one(next.id), next);
      void navigate(paths.operation(next.id));
    },
  });
  const finished = isFinished(operation);
  return (
    <>
      <PageHeader
        title={titleOf(operation)}
        beside={<Status state={operation.state} />}
        actions={
          <>
            <AsCodeButton recipe={() => operationRecipe(operation)} />
            {finished ? null : (
              <RefusingButton needs="deploy" variant="default" onClick={() => cancel.mutate()} loading={cancel.isPending}>
                <Trans>Cancel</Trans>
              </RefusingButton>
            )}
          </>
        }
        subtitle={
          <>
            <Trans>
              Started <Time at={operation.created_at} /> by {operation.created_by}
            </Trans>
            {operation.finished_at ? t`, took ${elapsed(operation.created_at, operation.finished_at)}` : ""}
          </>
        }
      />
      <div className={shared["stack"]}>
        {cancel.error ? <ProblemCard error={cancel.error} title={t`It could not be canceled`} /> : null}
        {operation.state === "Succeeded" && operation.result ? <DeploySuccess operation={operation} result={operation.result} /> : null}
        {operation.state === "Failed" || operation.state === "Canceled" ? (
          <DeployFailure operation={operation} onRetry={retry.mutateAsync} retrying={retry.isPending} retryFailure={retry.error} />
        ) : null}
        <div className={classes["operation"]}>
          <Card
            title={t`Progress`}
            hint={finished ? undefined : `${Math.round(operation.percent)} %`}
            actions={finished ? undefined : <Deadline since={operation.created_at} at={operation.deadline_at} />}
            flush
          >
            <StageList stages={operation.stages} label={t`Stages`} />
          </Card>
          {operation.endpoint && operation.deployment ? (
            <LogTail endpoint={operation.endpoint} deployment={operation.deployment} unfinished={!finished} />
          ) : null}
        </div>
      </div>
    </>
  );
}

/** It did not work: our sentence first, the verbatim text second, what to do third. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconArrowBackUp, IconPlayerTrackNext, IconRefresh, IconTool, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteDeployment, getDeployment, readLogs, revisionsQuery, rollBack } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { modelVersionQuery } from "@/api/models";
import type { Deployment, DeploymentRevision, ErrorDetail, Operation } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { elapsed } from "@/components/format";
import { FocusedHeading } from "@/components/focused-heading";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton, RefusingLink } from "@/components/refusing-button";
import { ToneIcon } from "@/components/status";
import { culpritOf } from "../config/culprit";
import { sourceOfVersion } from "../config/source";
import shared from "../deploy.module.css";
import classes from "./deploy-failure.module.css";

export interface DeployFailureProps {
  operation: Operation;
  onRetry: (how?: { skipGolden?: boolean }) => Promise<unknown>;
  retrying: boolean;
  retryFailure: unknown;
}

function detailOf(operation: Operation): ErrorDetail {
  const { error, stages } = operation;
  if (operation.state === "Canceled" && error === null) return { code: "Canceled", message: t`This deployment was canceled.` };
  if (error !== null) return error;
  const stage = stages.find((one) => one.status === "failed");
  return {
    code: "Failed",
    message: stage ? t`${stage.title} failed.` : t`The operation failed.`,
    detail: stage?.detail ?? null,
  };
}

function lateText(operation: Operation, stage: string | undefined): string {
  const took = elapsed(operation.created_at, operation.finished_at);
  return stage === undefined ? t`It did not finish in ${took}.` : t`${stage} did not finish in ${took}.`;
}

export function DeployFailure({ operation, onRetry, retrying, retryFailure }: DeployFailureProps) {
  const error = detailOf(operation);
  const canceled = operation.state === "Canceled";
  const deployment = useFailedDeployment(operation);
  const revisions = useRevisions(operation);
  const late = error.code === "DeadlineExceeded";
  const last = useLastLine(operation, late);
  const stage = operation.stages.find((one) => one.status === "failed");
  return (
    <>
      <Card className={canceled ? "" : (classes["failure"] ?? "")}>
        <div className={shared["stack"]}>
          <div className={shared["resultHead"]} role={canceled ? undefined : "alert"}>
            <ToneIcon tone={canceled ? "idle" : "error"} label={canceled ? t`Canceled` : t`Failed`} size={22} />
            <div style={{ flex: "1 1 320px", minWidth: 0 }}>
              <FocusedHeading of={operation.id} appears className={shared["resultTitle"]}>
                {late ? lateText(operation, stage?.title) : error.message}
              </FocusedHeading>
              <span className="muted">
                {stage ? `${t`It stopped at "${stage.title}".`} ` : ""}
                {canceled ? t`What was running before still serves.` : t`Traffic was not touched.`}
              </span>
            </div>
            <div className={shared["resultActions"]}>
              {deployment ? (
                <Fix deployment={deployment} tried={triedOf(revisions) ?? deployment} error={error} canceled={canceled} />
              ) : null}
              <RefusingButton
                needs="deploy"
                leftSection={<IconRefresh size={15} aria-hidden />}
                onClick={() => void onRetry().catch(() => undefined)}
                loading={retrying}
              >
                <Trans>Retry</Trans>
              </RefusingButton>
              {stage?.name === "golden" && !canceled ? (
                <GoOn deployment={operation.deployment} onGoOn={() => onRetry({ skipGolden: true })} />
              ) : null}
            </div>
          </div>
          {late && last ? <Verbatim text={t`Last log line: ${last}`} /> : null}
          {error.detail ? <Verbatim text={error.detail} /> : null}
          {error.hints && error.hints.length > 0 ? (
            <ul className={classes["hints"]}>
              {error.hints.map((hint) => (
                <li key={hint}>{hint}</li>
              ))}
            </ul>
          ) : null}
          {deployment && revisions ? <Undo deployment={deployment} revisions={revisions} /> : null}
        </div>
      </Card>
      {retryFailure ? <ProblemCard error={retryFailure} title={t`It could not be tried again`} /> : null}
    </>
  );
}

/** Where its answers are right, and the golden cases are not. */
function GoOn({ deployment, onGoOn }: { deployment: string; onGoOn: () => Promise<unknown> }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <RefusingButton
        needs="deploy"
        variant="default"
        leftSection={<IconPlayerTrackNext size={15} aria-hidden />}
        onClick={() => setAsking(true)}
      >
        <Trans>Go on without golden cases</Trans>
      </RefusingButton>
      <ConfirmModal
        opened={asking}
        onClose={() => setAsking(false)}
        title={t`Go on without golden cases?`}
        confirmLabel={t`Go on`}
        onConfirm={onGoOn}
      >
        <Trans>
          {deployment} is started once more, and answers requests though its golden cases expect something else. The activity names who said
          so.
        </Trans>
      </ConfirmModal>
    </>
  );
}

function Verbatim({ text }: { text: string }) {
  return (
    <pre className={shared["verbatim"]} tabIndex={0} aria-label={t`Verbatim message`} role="region">
      {text}
    </pre>
  );
}

function useFailedDeployment({ endpoint, deployment }: Operation): Deployment | undefined {
  return useQuery({
    queryKey: ["deployment", endpoint, deployment],
    queryFn: () => getDeployment(endpoint, deployment),
    enabled: endpoint !== "" && deployment !== "",
    retry: false,
  }).data;
}

/** The latest first. */
function useRevisions({ endpoint, deployment }: Operation): DeploymentRevision[] | undefined {
  return useQuery({ ...revisionsQuery(endpoint, deployment), enabled: endpoint !== "" && deployment !== "", retry: false }).data?.items;
}

/** What was tried beside what serves, which the deployment is again. */
function triedOf(revisions: DeploymentRevision[] = []): DeploymentRevision | undefined {
  const current = revisions.find((revision) => revision.current);
  return revisions.find((revision) => !revision.succeeded && revision.number > (current?.number ?? 0));
}

function useLastLine({ endpoint, deployment }: Operation, wanted: boolean): string | undefined {
  const { data } = useQuery({
    queryKey: ["log-tail", endpoint, deployment, "last"],
    queryFn: ({ signal }) => readLogs(endpoint, deployment, { tail: 1 }, signal),
    enabled: wanted && deployment !== "",
    retry: false,
  });
  return data?.lines.at(-1)?.text;
}

interface FixProps {
  deployment: Deployment;
  tried: Pick<Deployment, "model" | "version">;
  error: ErrorDetail;
  canceled: boolean;
}

/** Back to the configuration, the line marked; what is changed there becomes a revision of the version. */
function Fix({ deployment, tried, error, canceled }: FixProps) {
  const version = useQuery(modelVersionQuery(tried.model, tried.version)).data;
  const models = version && !canceled ? sourceOfVersion(version).models : [];
  const failure = `${error.message}\n${error.detail ?? ""}`;
  const place = culpritOf(
    failure,
    models.map(({ name, startText }) => ({ name, text: startText })),
  );
  return (
    <RefusingLink
      needs="deploy"
      variant="default"
      leftSection={<IconTool size={15} aria-hidden />}
      link={{
        to: "/deploy/new",
        search: {
          model: tried.model,
          version: tried.version,
          endpoint: deployment.endpoint,
          deployment: deployment.name,
          step: "configure",
          ...place,
        },
      }}
    >
      {place ? t`Fix line ${place.line}` : t`Fix the configuration`}
    </RefusingLink>
  );
}

/** Back to what worked before; where nothing did, the failed deployment can go. A change that failed beside what serves has gone already. */
function Undo({ deployment, revisions }: { deployment: Deployment; revisions: DeploymentRevision[] }) {
  const serving = revisions.find((revision) => revision.succeeded && revision.current);
  if (serving) {
    return (
      <span className={shared["hint"]}>
        <Trans>
          {deployment.name} is as it was before: revision {serving.number}, {serving.model} version {serving.version}.
        </Trans>
      </span>
    );
  }
  return <UndoButton deployment={deployment} earlier={revisions.find((revision) => revision.succeeded)} />;
}

function UndoButton({ deployment, earlier }: { deployment: Deployment; earlier: DeploymentRevision | undefined }) {
  const { endpoint, name } = deployment;
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const follow = (operation: Operation) => {
    queryClient.setQueryData(keys.operations.one(operation.id), operation);
    void navigate(paths.operation(operation.id));
  };
  const back = useMutation({ mutationFn: () => rollBack(endpoint, name), onSuccess: follow });
  const remove = useMutation({ mutationFn: () => deleteDeployment(endpoint, name), onSuccess: follow });
  return (
    <div className={shared["sampleHead"]}>
      {earlier ? (
        <RefusingButton
          needs="deploy"
          variant="default"
          leftSection={<IconArrowBackUp size={15} aria-hidden />}
          onClick={() => back.mutate()}
          loading={back.isPending}
        >
          <Trans>Roll back to revision {earlier.number}</Trans>
        </RefusingButton>
      ) : (
        <RefusingButton
          needs="deploy"
          variant="default"
          leftSection={<IconTrash size={15} aria-hidden />}
          onClick={() => remove.mutate()}
          loading={remove.isPending}
        >
          <Trans>Remove {name}</Trans>
        </RefusingButton>
      )}
      <span className={shared["hint"]}>
        {earlier
          ? t`${earlier.model} version ${earlier.version}, which came up before.`
          : t`Nothing of ${name} has come up yet, so there is nothing to go back to.`}
      </span>
      {back.error || remove.error ? <ProblemCard error={back.error ?? remove.error} title={t`It could not be undone`} /> : null}
    </div>
  );
}

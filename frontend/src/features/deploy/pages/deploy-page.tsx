/** The deploy wizard: upload, inspect, configure, placement, deploy. The draft in the URL is on the server, so any browser resumes it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useRefusal } from "@/api/permissions";
import { DEPLOY_STEPS, type WizardStep } from "@/app/search";
import { FocusedHeading } from "@/components/focused-heading";
import { Forbidden } from "@/components/forbidden";
import { bytes } from "@/components/format";
import { notifyProblem } from "@/components/notify";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { Stepper, type Step } from "@/components/stepper";
import type { DeploySource } from "../config/source";
import { ConflictBar, SaveChip } from "../draft/save-chip";
import { useDraftSource } from "../draft/use-draft-source";
import { useNewDraft } from "../draft/use-new-draft";
import { useStoredDraft } from "../draft/use-stored-draft";
import { InspectStep } from "../steps/inspect-step";
import { UploadStep } from "../steps/upload-step";
import { useDrops } from "../upload/use-drops";
import { useUpload } from "../upload/use-upload";
import { LaterSteps } from "./later-steps";

const route = getRouteApi("/app/deploy/new");

const TITLES: Record<WizardStep, string> = {
  upload: t`Upload`,
  inspect: t`Inspect`,
  configure: t`Configure`,
  placement: t`Placement`,
  deploy: t`Deploy`,
};
const ENDED = new Set(["idle", "failed", "canceled", "done"]);

export function DeployPage() {
  usePageTitle(t`Deploy a model`);
  const refusal = useRefusal("deploy");
  // why not inside: the wizard saves a draft by itself as soon as it is shown.
  if (refusal === undefined) return <Wizard />;
  return (
    <>
      <PageHeader title={t`Deploy a model`} />
      <Forbidden needs="deploy" what={t`The deploy wizard`} />
    </>
  );
}

function Wizard() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const control = useUpload();
  const sending = !ENDED.has(control.view.phase);
  const stored = useStoredDraft(search.draft);
  const origin = stored.data?.origin ?? null;
  const found = useDraftSource(origin);
  const creating = useNewDraft(control, search);
  const [refused, setRefused] = useState<string | null>(null);

  const unfinished = found.upload?.state === "uploading" && !sending && control.view.phase !== "done" ? found.upload : null;
  const restart = () => {
    setRefused(null);
    control.reset();
    void navigate({ search: search.endpoint ? { endpoint: search.endpoint } : {} });
  };
  const { take, add } = useDrops({
    control,
    unfinished,
    onRefused: setRefused,
    // Another file is another draft; this one stays in the list.
    onOther: () => void navigate({ search: search.endpoint ? { endpoint: search.endpoint } : {}, replace: true }),
  });
  const discard = () => {
    if (sending) control.cancel();
    stored.discard(false).then(restart, (error: unknown) => notifyProblem(error, t`The draft could not be discarded`));
  };

  // Those of an earlier visit are not at hand, and those of another draft are not this one's.
  const kept = control.view.phase === "done" && control.view.uploadId === found.upload?.id;
  const addition = { kept, add: kept ? add : take };
  const { source } = found;
  const failed = found.upload?.state === "failed";
  const chosen = origin !== null || creating.pending;
  const usable = source !== null && source.models.length > 0 && !failed && !found.busy;
  const step = currentStep(search.step, { chosen, incomplete: unfinished !== null, usable, sending });
  // A marked line is for the first look only.
  const go = (next: WizardStep) => void navigate({ search: { draft: search.draft, step: next } });

  const [position, steps, title] = [DEPLOY_STEPS.indexOf(step) + 1, DEPLOY_STEPS.length, TITLES[step]];
  const failure = stored.error ?? found.error ?? creating.error;
  return (
    <>
      <PageHeader
        title={t`Deploy a model`}
        beside={search.draft === undefined ? undefined : <SaveChip state={stored.save} onRetry={stored.retry} />}
        actions={
          search.draft === undefined ? undefined : (
            <Button variant="subtle" color="gray" onClick={discard}>
              <Trans>Discard draft</Trans>
            </Button>
          )
        }
      />
      <Stepper
        label={t`Steps`}
        steps={DEPLOY_STEPS.map((id): Step => describe(id, step, source, failed))}
        canGo={(id) => !sending && (id === "upload" || (id === "inspect" && chosen) || usable)}
        onGo={(id) => go(id as WizardStep)}
      />
      <FocusedHeading of={step} className="sr-only">
        <Trans>
          Step {position} of {steps}: {title}
        </Trans>
      </FocusedHeading>
      {stored.save.kind === "conflict" ? <ConflictBar onLoad={stored.reload} onKeep={stored.retry} /> : null}
      {failure ? <ProblemCard error={failure} title={t`This draft cannot be opened`} onRetry={restart} /> : null}
      {step === "upload" ? (
        <UploadStep
          view={control.view}
          unfinished={unfinished}
          refused={refused}
          showDrafts={search.draft === undefined}
          onFiles={take}
          onCancel={control.cancel}
          onForget={discard}
          onImport={creating.beginImport}
          onVersion={(model, version) => void navigate({ search: { model, version, step: "configure" } })}
        />
      ) : failure ? null : source && stored.data && (usable || step !== "inspect") ? (
        <LaterSteps
          key={search.draft}
          step={step}
          source={source}
          upload={found.upload}
          stored={stored}
          mark={search.line === undefined ? null : { line: search.line, model: search.repo ?? null }}
          addition={addition}
          onStep={go}
          onRestart={restart}
        />
      ) : step === "inspect" && found.upload ? (
        <InspectStep
          upload={found.upload}
          source={source}
          addition={addition}
          onBack={restart}
          onCancel={discard}
          onForward={() => go("configure")}
        />
      ) : (
        <SkeletonRows rows={8} label={t`Loading the draft`} />
      )}
    </>
  );
}

interface Progress {
  chosen: boolean;
  incomplete: boolean;
  usable: boolean;
  sending: boolean;
}

/** The step of the URL, as far as what it needs is there. */
function currentStep(wanted: WizardStep | undefined, { chosen, incomplete, usable, sending }: Progress): WizardStep {
  const step = wanted ?? (chosen ? "inspect" : "upload");
  if (sending || incomplete || !chosen) return "upload";
  return usable || step === "upload" ? step : "inspect";
}

function describe(id: WizardStep, current: WizardStep, source: DeploySource | null, failed: boolean): Step {
  const position = DEPLOY_STEPS.indexOf(id);
  const now = DEPLOY_STEPS.indexOf(current);
  const state = id === "inspect" && failed ? "failed" : position === now ? "current" : position < now ? "done" : "todo";
  return { id, title: TITLES[id], hint: id === "inspect" && failed ? t`cannot be served` : hintOf(id, source), state };
}

function hintOf(id: WizardStep, source: DeploySource | null): string {
  if (id === "upload") return source ? `${source.filename}, ${bytes(source.size)}` : t`model file`;
  if (id === "configure") return "config.pbtxt";
  if (id === "placement") return t`node, GPU, instances`;
  if (id === "deploy") return t`endpoint and traffic`;
  const model = source?.models[0];
  if (!source || !model) return t`inputs and outputs`;
  if (source.models.length > 1) return t`${source.models.length} models`;
  const kind = model.opset === null ? model.backend : t`ONNX opset ${model.opset}`;
  const [inputs, outputs] = [model.inputs.length, model.outputs.length];
  return t`${kind}, ${inputs} in, ${outputs} out`;
}

/** The deploy wizard: upload, inspect, configure, deploy. What it works on is in the URL, so that a reload resumes. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect } from "react";
import { deleteUpload, uploadQuery } from "@/api/uploads";
import { modelVersionQuery } from "@/api/models";
import { DEPLOY_STEPS } from "@/app/search";
import { bytes } from "@/components/format";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { Stepper, type Step } from "@/components/stepper";
import { sourceOfUpload, sourceOfVersion, type DeploySource } from "../config/source";
import { InspectStep } from "../steps/inspect-step";
import { UploadStep } from "../steps/upload-step";
import { useUpload } from "../upload/use-upload";
import { LaterSteps } from "./later-steps";

const route = getRouteApi("/app/deploy/new");

export type WizardStep = (typeof DEPLOY_STEPS)[number];

const TITLES: Record<WizardStep, string> = {
  upload: "Upload",
  inspect: "Inspect",
  configure: "Configure",
  deploy: "Deploy",
};
const POLL_MS = 700;

export function DeployPage() {
  usePageTitle("Deploy a model");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const control = useUpload();
  const { view } = control;

  const upload = useQuery({
    ...uploadQuery(search.upload ?? ""),
    enabled: search.upload !== undefined,
    refetchInterval: (query) =>
      query.state.data?.state === "ready" || query.state.data?.state === "failed" ? false : POLL_MS,
  });
  const fromVersion = search.model !== undefined && search.version !== undefined;
  const version = useQuery({
    ...modelVersionQuery(search.model ?? "", search.version ?? "latest"),
    enabled: fromVersion,
  });

  // The upload's id goes into the URL as soon as there is one; inspection follows by itself when the bytes are there.
  useEffect(() => {
    if (
      view.uploadId !== null &&
      view.uploadId !== search.upload &&
      (view.phase === "sending" || view.phase === "done")
    ) {
      void navigate({
        search: { upload: view.uploadId, step: "upload", ...(search.endpoint ? { endpoint: search.endpoint } : {}) },
        replace: true,
      });
    }
  }, [navigate, search.endpoint, search.upload, view.phase, view.uploadId]);
  useEffect(() => {
    if (view.phase === "done" && view.uploadId === search.upload && search.step === "upload") {
      void navigate({ search: (old) => ({ ...old, step: "inspect" }), replace: true });
    }
  }, [navigate, search.step, search.upload, view.phase, view.uploadId]);
  useEffect(() => {
    if (view.phase === "canceled" && search.upload !== undefined) void navigate({ search: {}, replace: true });
  }, [navigate, search.upload, view.phase]);

  const data = upload.data;
  const source = data ? sourceOfUpload(data) : version.data ? sourceOfVersion(version.data) : null;
  const incomplete = data?.state === "uploading";
  const sending =
    view.phase !== "idle" && view.phase !== "failed" && view.phase !== "canceled" && view.phase !== "done";
  const usable = source !== null && source.models.length > 0 && (data === undefined || data.state === "ready");
  const step = currentStep(search.step, {
    chosen: data !== undefined || fromVersion,
    incomplete: incomplete && view.phase !== "done",
    usable,
    sending,
  });
  const go = (next: WizardStep) => void navigate({ search: (old) => ({ ...old, step: next }) });
  const restart = () => {
    control.reset();
    void navigate({ search: search.endpoint ? { endpoint: search.endpoint } : {} });
  };
  const discard = () => {
    if (search.upload !== undefined) deleteUpload(search.upload).catch(() => undefined);
    restart();
  };

  const failure = upload.error ?? version.error;
  return (
    <>
      <PageHeader
        title="Deploy a model"
        actions={
          search.upload !== undefined || fromVersion ? (
            <Button variant="subtle" color="gray" onClick={sending ? control.cancel : fromVersion ? restart : discard}>
              Discard
            </Button>
          ) : undefined
        }
      />
      <Stepper
        label="Steps"
        steps={DEPLOY_STEPS.map((id): Step => describe(id, step, source, data?.state === "failed"))}
        canGo={(id) => !sending && (id === "upload" || (id === "inspect" && source !== null) || usable)}
        onGo={(id) => go(id as WizardStep)}
      />
      {failure ? (
        <ProblemCard
          error={failure}
          title="This draft cannot be opened"
          onRetry={() => void (upload.error ? upload : version).refetch()}
        />
      ) : null}
      {step === "upload" ? (
        <UploadStep
          control={control}
          unfinished={incomplete && !sending && data ? data : null}
          onForget={discard}
          onVersion={(model, number) => void navigate({ search: { model, version: number, step: "configure" } })}
        />
      ) : step === "inspect" ? (
        <InspectStep upload={data ?? null} source={source} onBack={restart} onForward={() => go("configure")} />
      ) : source ? (
        <LaterSteps
          key={search.upload ?? `${search.model}@${search.version}`}
          step={step}
          source={source}
          endpoint={search.endpoint ?? null}
          onStep={go}
        />
      ) : failure ? null : (
        <SkeletonRows rows={8} label="Loading the draft" />
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
function currentStep(wanted: string | undefined, { chosen, incomplete, usable, sending }: Progress): WizardStep {
  const step = DEPLOY_STEPS.find((id) => id === wanted) ?? (chosen ? "inspect" : "upload");
  if (sending || incomplete) return "upload";
  if (!chosen && step === "inspect") return "upload";
  if ((step === "configure" || step === "deploy") && chosen && !usable) return "inspect";
  return step;
}

function describe(id: WizardStep, current: WizardStep, source: DeploySource | null, failed: boolean): Step {
  const position = DEPLOY_STEPS.indexOf(id);
  const now = DEPLOY_STEPS.indexOf(current);
  const state = id === "inspect" && failed ? "failed" : position === now ? "current" : position < now ? "done" : "todo";
  return { id, title: TITLES[id], hint: hintOf(id, source), state };
}

function hintOf(id: WizardStep, source: DeploySource | null): string {
  if (id === "upload") return source ? `${source.filename}, ${bytes(source.size)}` : "model file";
  if (id === "configure") return "config.pbtxt";
  if (id === "deploy") return "endpoint and traffic";
  const model = source?.models[0];
  if (!source || !model) return "inputs and outputs";
  if (source.models.length > 1) return `${source.models.length} models`;
  const kind = model.opset === null ? model.backend : `ONNX opset ${model.opset}`;
  return `${kind}, ${model.inputs.length} in, ${model.outputs.length} out`;
}

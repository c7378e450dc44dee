/** Step 2: what the server found in the file. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { Fragment, useRef } from "react";
import type { Lineage, Upload } from "@/api/types";
import { chosenFiles, type Dropped } from "@/app/dropped-files";
import { ApiProblem } from "@/api/problem";
import { Card } from "@/components/card";
import { CodeNotice } from "@/components/code-notice";
import { bytes } from "@/components/format";
import { lineageFacts } from "@/components/lineage";
import { ProblemCard } from "@/components/problem-card";
import { Chip, ToneIcon } from "@/components/status";
import { memoryEstimate } from "../config/memory";
import { errorsOf, type DeploySource, type SourceModel } from "../config/source";
import shared from "../deploy.module.css";
import classes from "./inspect-step.module.css";
import { Footer } from "./footer";
import { type Stage, StageList } from "./stage-list";
import { TensorTable } from "./tensor-table";

export interface Addition {
  kept: boolean;
  add: (files: Dropped[]) => void;
}

export interface InspectStepProps {
  upload: Upload | null;
  source: DeploySource | null;
  /** To be answered before it is deployed. */
  question?: React.ReactNode;
  /** Where it comes from, to be stated; it says itself what is wrong with it. */
  origin?: React.ReactNode;
  originWrong?: boolean;
  /** Files that complete it; `kept`: those chosen before are still at hand. */
  addition: Addition;
  onBack: () => void;
  /** End an import that is under way, and drop its draft. */
  onCancel?: () => void;
  onForward: () => void;
  /** Register and deploy it as it is. */
  defaults?: { endpoint: string; busy: boolean; failure: unknown; start: () => void };
}

export function InspectStep({
  upload,
  source,
  question,
  origin,
  originWrong = false,
  addition,
  onBack,
  onCancel,
  onForward,
  defaults,
}: InspectStepProps) {
  const errors = upload ? errorsOf(upload) : [];
  const settled = source !== null && (upload === null || upload.state === "ready" || upload.state === "failed");
  const usable = settled && errors.length === 0 && upload?.state !== "failed" && source.models.length > 0;
  const fetching = upload?.state === "fetching";
  const toFix = source?.configErrors ?? 0;
  // Of a file that cannot be read, nothing is known that a card could tell.
  const modelsToShow = (source?.models ?? []).filter((model) => errors.length === 0 || model.inputs.length + model.outputs.length > 0);
  const found = upload?.inspection?.problems ?? [];
  const warnings = found.filter((problem) => problem.severity === "warning" && problem.code !== "Arranged");
  const arranged = found.filter((problem) => problem.code === "Arranged");
  return (
    <>
      <div className={`${shared["columns"]} ${upload ? shared["wideRight"] : classes["single"]}`}>
        {upload ? (
          <div className={shared["stack"]}>
            <Card
              title={t`Inspection`}
              flush
              actions={
                fetching && onCancel ? (
                  <Button variant="default" onClick={onCancel}>
                    <Trans>Cancel import</Trans>
                  </Button>
                ) : undefined
              }
            >
              <StageList stages={stagesOf(upload)} label={t`Inspection steps`} />
            </Card>
            <Card title={t`File`}>
              <dl className={shared["facts"]}>
                <dt>
                  <Trans>Name</Trans>
                </dt>
                <dd className="mono">{upload.filename}</dd>
                <LineageFacts lineage={upload.lineage} />
                {fetching ? null : (
                  <>
                    <dt>
                      <Trans>Size</Trans>
                    </dt>
                    <dd>{bytes(upload.size)}</dd>
                  </>
                )}
                {upload.sha256 ? (
                  <>
                    <dt>SHA-256</dt>
                    <dd className="mono" title={upload.sha256}>
                      {upload.sha256.slice(0, 16)}…
                    </dd>
                  </>
                ) : null}
              </dl>
            </Card>
            {usable ? origin : null}
            {upload.manifest.length > 0 ? <Layout upload={upload} arranged={arranged.map((one) => one.message)} /> : null}
          </div>
        ) : null}
        <div className={shared["stack"]}>
          {errors.map((error) => (
            <ProblemCard
              key={`${error.code} ${error.message}`}
              error={new ApiProblem({ title: error.message, detail: error.detail ?? "", code: error.code, hints: error.hints ?? [] }, 200)}
            />
          ))}
          {errors.some(({ code }) => code === "ExternalDataMissing") ? <AddFiles {...addition} /> : null}
          {warnings.map((warning) => (
            <Warning key={`${warning.code} ${warning.message}`} text={[warning.message, ...(warning.hints ?? [])].join(" ")} />
          ))}
          {usable ? question : null}
          {settled && source ? <CodeNotice code={source.code} {...versionOf(source)} /> : null}
          {toFix > 0 && settled ? (
            <Warning
              text={t`${plural(toFix, { one: "One thing", other: "# things" })} in the configuration must be put right first. The next step shows each, with a fix where there is one.`}
            />
          ) : null}
          {defaults?.failure ? (
            <ProblemCard error={defaults.failure} title={t`The deployment was not started`} onRetry={defaults.start} />
          ) : null}
          {modelsToShow.map((model) => (
            <ModelCard key={model.name} model={model} size={source?.models.length === 1 ? source.size : null} />
          ))}
          {!settled && !fetching && errors.length === 0 ? <Reading /> : null}
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={errors.length > 0 ? unusable(upload) : settled ? summary(source) : fetching ? t`Fetching the files` : t`Reading the file`}
        tone={errors.length > 0 ? "error" : undefined}
        second={
          defaults && usable && toFix === 0 && !question && !originWrong ? (
            <Button variant="default" onClick={defaults.start} loading={defaults.busy}>
              <Trans>Deploy with defaults</Trans>
            </Button>
          ) : undefined
        }
        forward={t`Continue to configuration`}
        onForward={onForward}
        blocked={!usable || originWrong}
      />
    </>
  );
}

function AddFiles({ kept, add }: Addition) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div>
      <Button variant="default" onClick={() => input.current?.click()}>
        {kept ? t`Add the missing file` : t`Choose the model and its data together`}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={kept ? t`Missing file` : t`Model and its data`}
        onChange={({ currentTarget }) => {
          add(chosenFiles(currentTarget.files));
          currentTarget.value = "";
        }}
      />
    </div>
  );
}

/** A version that waits can be approved here as well; an upload is none yet. */
const versionOf = ({ registered }: DeploySource) => (registered ? { version: registered } : {});

function summary(source: DeploySource | null): string {
  const models = source?.models ?? [];
  const [inputs, outputs] = [models[0]?.inputs.length ?? 0, models[0]?.outputs.length ?? 0];
  if (models.length === 1) return t`${inputs} in, ${outputs} out`;
  return t`${models.length} models`;
}

function Reading() {
  return (
    <Card title={t`Model`}>
      <p className="muted" role="status" style={{ margin: 0 }}>
        <Trans>The graph is being read. Inputs, outputs and batching appear here.</Trans>
      </p>
    </Card>
  );
}

function Warning({ text }: { text: string }) {
  return (
    <div className={shared["refusal"]} style={{ borderLeftColor: "var(--warn)" }}>
      <ToneIcon tone="warn" label={t`Warning`} />
      <span>{text}</span>
    </div>
  );
}

const SHOWN_FILES = 40;

/** The files as the runtime will find them, and what was done to lay them out so. */
function Layout({ upload, arranged }: { upload: Upload; arranged: string[] }) {
  const more = upload.manifest.length - SHOWN_FILES;
  return (
    <Card title={t`As it will be served`} hint={plural(upload.manifest.length, { one: "# file", other: "# files" })} flush>
      {arranged.length > 0 ? (
        <ul className={classes["arranged"]} aria-label={t`What was arranged`}>
          {arranged.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      ) : null}
      {/* why tabIndex: a box that scrolls must be reachable with the keyboard. */}
      <ul className={classes["files"]} aria-label={t`Files`} tabIndex={0}>
        {upload.manifest.slice(0, SHOWN_FILES).map((file) => (
          <li key={file.path}>
            <span className="mono truncate" title={file.path}>
              {file.path}
            </span>
            <span className="secondary">{bytes(file.size)}</span>
          </li>
        ))}
        {more > 0 ? (
          <li className="secondary">
            <Trans>and {more} more</Trans>
          </li>
        ) : null}
      </ul>
    </Card>
  );
}

function ModelCard({ model, size }: { model: SourceModel; size: number | null }) {
  const batched = model.maxBatchSize > 0;
  return (
    <Card
      title={<span className="mono">{model.name}</span>}
      hint={[
        model.opset === null ? null : t`ONNX opset ${model.opset}`,
        model.producer ? t`made by ${model.producer}` : null,
        size === null ? null : t`about ${bytes(memoryEstimate(size))} of memory per instance`,
      ]
        .filter(Boolean)
        .join(", ")}
      actions={
        <>
          <Chip>{model.backend || model.platform}</Chip>
          <Chip>{batched ? t`batches up to ${model.maxBatchSize}` : t`no batching`}</Chip>
        </>
      }
      flush
    >
      <div className={shared["section"]} style={{ paddingInline: 0, paddingTop: 0 }}>
        <div className={shared["sectionHead"]} style={{ padding: "0 12px", margin: 0 }}>
          <h3>
            <Trans>Inputs</Trans>
          </h3>
        </div>
        <TensorTable tensors={model.inputs} caption={t`Inputs of ${model.name}`} batched={batched} />
      </div>
      <div className={shared["section"]} style={{ paddingInline: 0 }}>
        <div className={shared["sectionHead"]} style={{ padding: "0 12px", margin: 0 }}>
          <h3>
            <Trans>Outputs</Trans>
          </h3>
        </div>
        <TensorTable tensors={model.outputs} caption={t`Outputs of ${model.name}`} batched={batched} />
      </div>
      {model.warnings.map((warning) => (
        <div key={warning} className={shared["section"]} style={{ display: "flex", gap: 10 }}>
          <ToneIcon tone="warn" label={t`Warning`} />
          <span>{warning}</span>
        </div>
      ))}
    </Card>
  );
}

/** The steps, with the bytes that have come while the server fetches them. */
function stagesOf({ state, steps, offset, size }: Upload): Stage[] {
  if (state !== "fetching") return steps;
  return steps.map((step) =>
    step.name === "fetch" && step.status === "running"
      ? { ...step, detail: t`${bytes(offset)} of ${bytes(size)}`, progress: size > 0 ? offset / size : null }
      : step,
  );
}

function LineageFacts({ lineage }: { lineage: Lineage | null }) {
  if (lineage === null) return null;
  return lineageFacts(lineage).map(([term, value]) => (
    <Fragment key={term}>
      <dt>{term}</dt>
      <dd>{value}</dd>
    </Fragment>
  ));
}

const unusable = (upload: Upload | null): string =>
  upload?.steps.some((step) => step.name === "fetch" && step.status === "failed")
    ? t`Nothing was imported. Go back and try again.`
    : t`This file cannot be served. Go back and choose another.`;

/** Step 2: what the server found in the file. */
import type { Upload } from "@/api/types";
import { ApiProblem } from "@/api/problem";
import { Card } from "@/components/card";
import { bytes } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { Chip, ToneIcon } from "@/components/status";
import { errorsOf, type DeploySource, type SourceModel } from "../config/source";
import classes from "../deploy.module.css";
import { Footer } from "./footer";
import { StageList } from "./stage-list";
import { TensorTable } from "./tensor-table";

export interface InspectStepProps {
  upload: Upload | null;
  source: DeploySource | null;
  onBack: () => void;
  onForward: () => void;
}

export function InspectStep({ upload, source, onBack, onForward }: InspectStepProps) {
  const errors = upload ? errorsOf(upload) : [];
  const settled = source !== null && (upload === null || upload.state === "ready" || upload.state === "failed");
  const usable = settled && errors.length === 0 && upload?.state !== "failed" && source.models.length > 0;
  const warnings = (upload?.inspection?.problems ?? []).filter((problem) => problem.severity === "warning");
  return (
    <>
      <div
        className={classes["columns"]}
        style={{ gridTemplateColumns: upload ? "minmax(0, 1fr) minmax(0, 1.9fr)" : "minmax(0, 1fr)" }}
      >
        {upload ? (
          <div className={classes["stack"]}>
            <Card title="Inspection" flush>
              <StageList stages={upload.steps} label="Inspection steps" />
            </Card>
            <Card title="File">
              <dl className={classes["facts"]}>
                <dt>Name</dt>
                <dd className="mono">{upload.filename}</dd>
                <dt>Size</dt>
                <dd>{bytes(upload.size)}</dd>
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
          </div>
        ) : null}
        <div className={classes["stack"]}>
          {errors.map((error) => (
            <ProblemCard
              key={`${error.code} ${error.message}`}
              error={
                new ApiProblem(
                  { title: error.message, detail: error.detail ?? "", code: error.code, hints: error.hints ?? [] },
                  200,
                )
              }
            />
          ))}
          {warnings.map((warning) => (
            <Warning
              key={`${warning.code} ${warning.message}`}
              text={[warning.message, ...(warning.hints ?? [])].join(" ")}
            />
          ))}
          {source?.models.map((model) => (
            <ModelCard key={model.name} model={model} />
          ))}
          {!settled && errors.length === 0 ? <Reading /> : null}
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={
          errors.length > 0
            ? "This file cannot be served. Go back and choose another."
            : settled
              ? summary(source)
              : "Reading the file"
        }
        tone={errors.length > 0 ? "error" : undefined}
        forward="Continue to configuration"
        onForward={onForward}
        blocked={!usable}
      />
    </>
  );
}

function summary(source: DeploySource | null): string {
  const models = source?.models ?? [];
  if (models.length === 1) return `${models[0]?.inputs.length ?? 0} in, ${models[0]?.outputs.length ?? 0} out`;
  return `${models.length} models`;
}

function Reading() {
  return (
    <Card title="Model">
      <p className="muted" role="status" style={{ margin: 0 }}>
        The graph is being read. Inputs, outputs and batching appear here.
      </p>
    </Card>
  );
}

function Warning({ text }: { text: string }) {
  return (
    <div className={classes["refusal"]} style={{ borderLeftColor: "var(--warn)" }}>
      <ToneIcon tone="warn" label="Warning" />
      <span>{text}</span>
    </div>
  );
}

function ModelCard({ model }: { model: SourceModel }) {
  const batched = model.maxBatchSize > 0;
  return (
    <Card
      title={<span className="mono">{model.name}</span>}
      hint={[
        model.opset === null ? null : `ONNX opset ${model.opset}`,
        model.producer ? `made by ${model.producer}` : null,
      ]
        .filter(Boolean)
        .join(", ")}
      actions={
        <>
          <Chip>{model.backend || model.platform}</Chip>
          <Chip>{batched ? `batches up to ${model.maxBatchSize}` : "no batching"}</Chip>
        </>
      }
      flush
    >
      <div className={classes["section"]} style={{ paddingInline: 0, paddingTop: 0 }}>
        <div className={classes["sectionHead"]} style={{ padding: "0 12px", margin: 0 }}>
          <h3>Inputs</h3>
        </div>
        <TensorTable tensors={model.inputs} caption={`Inputs of ${model.name}`} batched={batched} />
      </div>
      <div className={classes["section"]} style={{ paddingInline: 0 }}>
        <div className={classes["sectionHead"]} style={{ padding: "0 12px", margin: 0 }}>
          <h3>Outputs</h3>
        </div>
        <TensorTable tensors={model.outputs} caption={`Outputs of ${model.name}`} batched={batched} />
      </div>
      {model.warnings.map((warning) => (
        <div key={warning} className={classes["section"]} style={{ display: "flex", gap: 10 }}>
          <ToneIcon tone="warn" label="Warning" />
          <span>{warning}</span>
        </div>
      ))}
    </Card>
  );
}

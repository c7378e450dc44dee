/** What the wizard deploys: a fresh upload or a registered version, in one shape. */
import type { Code, ErrorDetail, InspectedModel, Lineage, ModelVersion, Tensor, Upload } from "@/api/types";

export type Origin = NonNullable<InspectedModel["provenance"]>[string];

export interface SourceModel {
  /** The name in the repository, which clients call. */
  name: string;
  backend: string;
  platform: string;
  maxBatchSize: number;
  inputs: Tensor[];
  outputs: Tensor[];
  /** The file's own config.pbtxt, or the completed one where the file has none: what the editor starts with. */
  startText: string;
  /** The completed configuration: what Diff compares with. */
  completeText: string;
  provenance: Partial<Record<string, Origin>>;
  /** The file came with a config.pbtxt of its own. */
  written: boolean;
  opset: number | null;
  producer: string | null;
  warnings: string[];
  files: string[];
  versions: number[];
  /** The text after every known fix, where the file's own needs one. */
  proposal: { text: string; certain: boolean } | null;
  decoupled: boolean;
}

export interface DeploySource {
  kind: "upload" | "version";
  filename: string;
  size: number;
  uploadId: string | null;
  /** Set for a registered version. */
  registered: { model: string; version: number; revision: number | null } | null;
  models: SourceModel[];
  /** What was found in the file but is mended by another text, in all models. */
  configErrors: number;
  /** Whether it brings code, and whether that may run. */
  code: Code;
  /** Where it comes from, as far as that is known to the server. */
  lineage: Lineage | null;
}

const withoutBlanks = (text: string) => (text.trim() === "" ? null : text);

/** The file's own text; without one what was completed, or the draft where the file does not tell enough. */
function startText(model: InspectedModel): string {
  return withoutBlanks(model.config_text) ?? model.proposal?.text ?? model.config_effective;
}

export function sourceOfUpload(upload: Upload): DeploySource | null {
  const { inspection } = upload;
  if (inspection === null) return null;
  return {
    kind: "upload",
    filename: upload.filename,
    size: upload.size,
    uploadId: upload.id,
    registered: null,
    code: upload.code,
    lineage: upload.lineage,
    configErrors: inspection.problems.filter((one) => one.severity === "error" && one.scope === "config").length,
    models: inspection.models.map((model) => ({
      name: model.name,
      backend: model.backend,
      platform: model.platform,
      maxBatchSize: model.max_batch_size,
      inputs: model.inputs,
      outputs: model.outputs,
      startText: startText(model),
      completeText: model.config_effective,
      provenance: model.provenance ?? {},
      written: withoutBlanks(model.config_text) !== null,
      opset: model.graph?.opset ?? null,
      producer: model.graph?.producer ?? null,
      warnings: model.warnings,
      files: model.files,
      versions: model.versions,
      proposal: model.proposal ?? null,
      decoupled: model.decoupled ?? false,
    })),
  };
}

export function sourceOfVersion(version: ModelVersion): DeploySource {
  const latest = version.config_revisions.at(-1);
  const revised = latest?.configs ?? {};
  return {
    kind: "version",
    filename: version.source_filename,
    size: version.size,
    uploadId: null,
    registered: { model: version.model, version: version.version, revision: latest?.number ?? null },
    configErrors: 0,
    code: version.code,
    lineage: version.lineage,
    models: version.repo_models.map((model) => ({
      name: model.name,
      backend: model.backend,
      platform: model.platform,
      maxBatchSize: model.max_batch_size,
      inputs: model.inputs,
      outputs: model.outputs,
      startText: revised[model.name] ?? withoutBlanks(model.config_text) ?? model.config_effective,
      completeText: model.config_effective,
      provenance: {},
      written: withoutBlanks(model.config_text) !== null,
      opset: null,
      producer: null,
      warnings: [],
      files: [],
      versions: model.versions,
      proposal: null,
      decoupled: model.decoupled,
    })),
  };
}

/** The file does not tell its types and shapes, and has no text of its own: what one sees was made up to be corrected. */
export const isGuessed = (model: SourceModel): boolean => model.proposal !== null && !model.proposal.certain && !model.written;

/** Only the texts that were changed, and guesses that one agrees with: the others stay what the file says. */
export function changedConfigs(models: readonly SourceModel[], texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    models.flatMap((model, index) => {
      const text = texts[index];
      return text === undefined || (text === model.startText && !isGuessed(model)) ? [] : [[model.name, text]];
    }),
  );
}

export function errorsOf(upload: Upload): ErrorDetail[] {
  const found = (upload.inspection?.problems ?? []).filter(
    // What another text mends is for the next step.
    (problem) => problem.severity === "error" && problem.scope !== "config",
  );
  const own: ErrorDetail[] = upload.error === null ? [] : [upload.error];
  const others = found.filter(({ code, message }) => !own.some((error) => error.code === code && wordsOf(error).includes(message)));
  return [...own, ...others].map((error) => (error.message.includes(error.detail ?? "") ? { ...error, detail: "" } : error));
}

const wordsOf = ({ message, detail }: ErrorDetail): string => `${message}\n${detail ?? ""}`;

/** What the wizard deploys: a fresh upload or a registered version, in one shape. */
import type { Dim, ErrorDetail, ModelVersion, Tensor, Upload } from "@/api/types";

export type Origin = "model" | "default" | "config";

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
}

export interface DeploySource {
  kind: "upload" | "version";
  filename: string;
  size: number;
  uploadId: string | null;
  /** Set for a registered version. */
  registered: { model: string; version: number } | null;
  models: SourceModel[];
  /** Registered versions are immutable: their text can be read, not edited. */
  editable: boolean;
}

const withoutBlanks = (text: string) => (text.trim() === "" ? null : text);

export function sourceOfUpload(upload: Upload): DeploySource | null {
  const { inspection } = upload;
  if (inspection === null) return null;
  return {
    kind: "upload",
    filename: upload.filename,
    size: upload.size,
    uploadId: upload.id,
    registered: null,
    editable: true,
    models: inspection.models.map((model) => ({
      name: model.name,
      backend: model.backend,
      platform: model.platform,
      maxBatchSize: model.max_batch_size,
      inputs: model.inputs,
      outputs: model.outputs,
      startText: withoutBlanks(model.config_text) ?? model.config_effective,
      completeText: model.config_effective,
      provenance: (model.provenance ?? {}) as SourceModel["provenance"],
      written: withoutBlanks(model.config_text) !== null,
      opset: model.graph?.opset ?? null,
      producer: model.graph?.producer ?? null,
      warnings: model.warnings,
      files: model.files,
    })),
  };
}

export function sourceOfVersion(version: ModelVersion): DeploySource {
  const revised = version.config_revisions.at(-1)?.configs ?? {};
  return {
    kind: "version",
    filename: version.source_filename,
    size: version.size,
    uploadId: null,
    registered: { model: version.model, version: version.version },
    editable: false,
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
    })),
  };
}

/** Only the texts that were changed: the others stay what the file says. */
export function changedConfigs(models: readonly SourceModel[], texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    models.flatMap((model, index) => {
      const text = texts[index];
      return text === undefined || text === model.startText ? [] : [[model.name, text]];
    }),
  );
}

export const shapeList = (shape: readonly Dim[]): string => shape.map(String).join(", ");

export function errorsOf(upload: Upload): ErrorDetail[] {
  const found = (upload.inspection?.problems ?? []).filter((problem) => problem.severity === "error");
  const own = upload.error === null ? [] : [upload.error];
  return [
    ...own,
    ...found.filter(
      (problem) => !own.some((error) => error.code === problem.code && error.message === problem.message),
    ),
  ];
}

/** A pipeline as a drawing: tensors that pass between steps, steps in columns by what they wait for. Pure. */
import { t } from "@lingui/core/macro";
import { shape } from "../format";

export interface PipelineNode {
  key: string;
  /** The step's model, or "inputs" and "outputs". */
  title: string;
  kind: "inputs" | "step" | "outputs";
  column: number;
  row: number;
}

export interface PipelineEdge {
  from: string;
  to: string;
  tensor: string;
  /** Type and shape, as far as they are known. */
  type: string;
  /** Of a call from one model to another: what it gives, and what the answer has. Without it: between steps of an ensemble. */
  via?: "call" | "answer";
}

export interface PipelineGraph {
  nodes: PipelineNode[];
  edges: PipelineEdge[];
  columns: number;
  rows: number;
}

/** What stands in a step's box below its name, or on a call. */
export interface StepText {
  lines: readonly string[];
  /** Said in words; `error` is worse than `warn`. */
  marks: readonly { tone: "warn" | "error"; text: string }[];
}

export interface TypedTensor {
  name: string;
  datatype: string;
  shape: readonly number[];
}

/** What a step's model takes and gives, without the batch axis. */
export interface PipelineModel {
  name: string;
  inputs: readonly TypedTensor[];
  outputs: readonly TypedTensor[];
}

/** Pairs are the model's name of a tensor, and the ensemble's. */
interface PipelineStep {
  model: string;
  inputs: readonly (readonly [string, string])[];
  outputs: readonly (readonly [string, string])[];
}

export interface PipelineSpec {
  inputs: readonly TypedTensor[];
  outputs: readonly TypedTensor[];
  steps: readonly PipelineStep[];
}

export const typeText = (tensor: TypedTensor | undefined): string => (tensor?.datatype ? `${tensor.datatype} ${shape(tensor.shape)}` : "");

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const pairsOf = (value: unknown): [string, string][] =>
  isObject(value) ? Object.entries(value).map(([key, tensor]) => [key, String(tensor)]) : [];
const field = (value: Json, snake: string, camel: string): unknown => value[snake] ?? value[camel];

const tensorOf = (value: Json): TypedTensor => ({
  name: String(value["name"] ?? ""),
  datatype: String(field(value, "data_type", "dataType") ?? "").replace(/^TYPE_/, ""),
  shape: Array.isArray(value["dims"]) ? value["dims"].map(Number) : [],
});

/** Null for a configuration that is no ensemble. */
export function ensembleSpec(config: Json | null): PipelineSpec | null {
  const scheduling = config ? field(config, "ensemble_scheduling", "ensembleScheduling") : null;
  if (!config || !isObject(scheduling)) return null;
  const steps = listOf(scheduling["step"]).map((step): PipelineStep => ({
    model: String(field(step, "model_name", "modelName") ?? ""),
    inputs: pairsOf(field(step, "input_map", "inputMap")),
    outputs: pairsOf(field(step, "output_map", "outputMap")),
  }));
  if (steps.length === 0) return null;
  return { inputs: listOf(config["input"]).map(tensorOf), outputs: listOf(config["output"]).map(tensorOf), steps };
}

/** Of every tensor of an ensemble the type that its maker gives it. */
function tensorTypes(spec: PipelineSpec, models: readonly PipelineModel[]): Map<string, TypedTensor> {
  const found = new Map<string, TypedTensor>(spec.inputs.map((tensor) => [tensor.name, tensor]));
  for (const step of spec.steps) {
    const model = models.find((one) => one.name === step.model);
    for (const [name, tensor] of step.outputs) {
      const made = model?.outputs.find((one) => one.name === name);
      if (made) found.set(tensor, made);
    }
  }
  // What only the ensemble itself tells.
  for (const tensor of spec.outputs) if (!found.has(tensor.name)) found.set(tensor.name, tensor);
  return found;
}

export function pipelineGraph(spec: PipelineSpec, models: readonly PipelineModel[] = []): PipelineGraph {
  const { steps } = spec;
  const types = tensorTypes(spec, models);
  const maker = new Map<string, string>(spec.inputs.map((tensor) => [tensor.name, "inputs"]));
  for (const [index, step] of steps.entries()) for (const [, tensor] of step.outputs) maker.set(tensor, `step ${index}`);
  const columns = columnsOf(steps, maker);
  const last = Math.max(0, ...columns) + 1;
  const heights = new Map<number, number>();
  const rowIn = (column: number): number => {
    const row = heights.get(column) ?? 0;
    heights.set(column, row + 1);
    return row;
  };
  const nodes: PipelineNode[] = [
    { key: "inputs", title: t`inputs`, kind: "inputs", column: 0, row: rowIn(0) },
    ...steps.map((step, index): PipelineNode => {
      const column = columns[index] ?? 1;
      return { key: `step ${index}`, title: step.model, kind: "step", column, row: rowIn(column) };
    }),
    { key: "outputs", title: t`outputs`, kind: "outputs", column: last, row: rowIn(last) },
  ];
  const edge = (tensor: string, to: string): PipelineEdge => ({
    from: maker.get(tensor) ?? "",
    to,
    tensor,
    type: typeText(types.get(tensor)),
  });
  const edges = [
    ...steps.flatMap((step, index) => [...new Set(step.inputs.map(([, tensor]) => tensor))].map((tensor) => edge(tensor, `step ${index}`))),
    ...spec.outputs.map((tensor) => edge(tensor.name, "outputs")),
  ].filter((one) => one.from !== "");
  return { nodes, edges, columns: last + 1, rows: Math.max(...heights.values()) };
}

/** Models by themselves, as of those nobody knows who calls whom: side by side, without edges. */
export function looseGraph(models: readonly string[], wide = 3): PipelineGraph {
  const nodes = models.map((title, index): PipelineNode => ({
    key: `step ${index}`,
    title,
    kind: "step",
    column: index % wide,
    row: Math.floor(index / wide),
  }));
  return { nodes, edges: [], columns: Math.min(wide, models.length), rows: Math.ceil(models.length / wide) };
}

/** A step stands one column behind the last of those it waits for; a ring, which the checks refuse, ends after all steps. */
function columnsOf(steps: readonly PipelineStep[], maker: ReadonlyMap<string, string>): number[] {
  const columns = steps.map(() => 1);
  for (let pass = 0; pass < steps.length; pass += 1) {
    for (const [index, step] of steps.entries()) {
      for (const [, tensor] of step.inputs) {
        const from = maker.get(tensor);
        if (!from?.startsWith("step ")) continue;
        const before = columns[Number(from.slice(5))] ?? 0;
        columns[index] = Math.min(steps.length, Math.max(columns[index] ?? 1, before + 1));
      }
    }
  }
  return columns;
}

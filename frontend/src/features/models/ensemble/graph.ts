/** An ensemble as a drawing: tensors that pass between steps, steps in columns by what they wait for. Pure. */

export interface EnsembleNode {
  key: string;
  /** The step's model, or "inputs" and "outputs". */
  title: string;
  kind: "inputs" | "step" | "outputs";
  column: number;
  row: number;
}

interface EnsembleEdge {
  from: string;
  to: string;
  tensor: string;
}

export interface EnsembleGraph {
  nodes: EnsembleNode[];
  edges: EnsembleEdge[];
  columns: number;
  rows: number;
}

interface Step {
  model: string;
  takes: string[];
  gives: string[];
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const valuesOf = (value: unknown): string[] => (isObject(value) ? Object.values(value).map(String) : []);
const field = (value: Json, snake: string, camel: string): unknown => value[snake] ?? value[camel];

/** Null for a configuration that is no ensemble. */
export function ensembleGraph(config: Json | null): EnsembleGraph | null {
  const scheduling = config ? field(config, "ensemble_scheduling", "ensembleScheduling") : null;
  if (!config || !isObject(scheduling)) return null;
  const steps = listOf(scheduling["step"]).map((step): Step => ({
    model: String(field(step, "model_name", "modelName") ?? ""),
    takes: valuesOf(field(step, "input_map", "inputMap")),
    gives: valuesOf(field(step, "output_map", "outputMap")),
  }));
  if (steps.length === 0) return null;
  const names = (side: string) => listOf(config[side]).map((tensor) => String(tensor["name"] ?? ""));
  const maker = new Map<string, string>(names("input").map((tensor) => [tensor, "inputs"]));
  for (const [index, step] of steps.entries()) for (const tensor of step.gives) maker.set(tensor, `step ${index}`);
  const columns = columnsOf(steps, maker);
  const last = Math.max(...columns) + 1;
  const heights = new Map<number, number>();
  const rowIn = (column: number): number => {
    const row = heights.get(column) ?? 0;
    heights.set(column, row + 1);
    return row;
  };
  const nodes: EnsembleNode[] = [
    { key: "inputs", title: "inputs", kind: "inputs", column: 0, row: rowIn(0) },
    ...steps.map((step, index): EnsembleNode => {
      const column = columns[index] ?? 1;
      return { key: `step ${index}`, title: step.model, kind: "step", column, row: rowIn(column) };
    }),
    { key: "outputs", title: "outputs", kind: "outputs", column: last, row: rowIn(last) },
  ];
  const edges: EnsembleEdge[] = [
    ...steps.flatMap((step, index) =>
      [...new Set(step.takes)].map((tensor) => ({ from: maker.get(tensor) ?? "", to: `step ${index}`, tensor })),
    ),
    ...names("output").map((tensor) => ({ from: maker.get(tensor) ?? "", to: "outputs", tensor })),
  ].filter((edge) => edge.from !== "");
  return { nodes, edges, columns: last + 1, rows: Math.max(...heights.values()) };
}

/** A step stands one column behind the last of those it waits for; a ring, which the checks refuse, ends after all steps. */
function columnsOf(steps: readonly Step[], maker: ReadonlyMap<string, string>): number[] {
  const columns = steps.map(() => 1);
  for (let pass = 0; pass < steps.length; pass += 1) {
    for (const [index, step] of steps.entries()) {
      for (const tensor of step.takes) {
        const from = maker.get(tensor);
        if (!from?.startsWith("step ")) continue;
        const before = columns[Number(from.slice(5))] ?? 0;
        columns[index] = Math.min(steps.length, Math.max(columns[index] ?? 1, before + 1));
      }
    }
  }
  return columns;
}

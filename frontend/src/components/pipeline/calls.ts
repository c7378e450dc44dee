/** Models that call others (BLS), added to a drawing: whom they call stands right of them, and whom those call further right. Pure. */
import { type PipelineEdge, type PipelineGraph, type PipelineModel, type PipelineNode, type PipelineSpec, typeText } from "./graph";

interface Link {
  from: string;
  to: string;
}

/** `specs` are of ensembles, by name: the steps of one that is called are drawn, too. */
export interface Known {
  calls: readonly { caller: string; callee: string }[];
  specs: ReadonlyMap<string, PipelineSpec>;
  models: readonly PipelineModel[];
}

/** `graph` with all models that those in it lead to, each of them once. Who calls in a ring, or itself, has an edge back. */
export function withCalls(graph: PipelineGraph, known: Known): PipelineGraph {
  const columns = new Map<string, number>();
  const keys = new Map<string, string>();
  for (const node of graph.nodes) {
    if (node.kind !== "step" || keys.has(node.title)) continue;
    keys.set(node.title, node.key);
    columns.set(node.title, node.column);
  }
  const begun = new Set(keys.keys());
  const { links, forward } = linksFrom([...begun], (name) => ledTo(name, known));
  // The longest way to a model says its column. Links without those back make no ring, so this ends.
  for (let changed = true; changed;) {
    changed = false;
    for (const { from, to } of forward) {
      const column = (columns.get(from) ?? 0) + 1;
      if (begun.has(to) || column <= (columns.get(to) ?? -1)) continue;
      columns.set(to, column);
      changed = true;
    }
  }
  // Below what passes between the steps of an ensemble, whose edges go right through its own rows.
  const first = graph.edges.length > 0 ? graph.rows : 0;
  const heights = new Map<number, number>();
  const added: PipelineNode[] = [];
  for (const [title, column] of columns) {
    if (begun.has(title)) continue;
    const row = heights.get(column) ?? first;
    heights.set(column, row + 1);
    keys.set(title, `called ${title}`);
    added.push({ key: `called ${title}`, title, kind: "step", column, row });
  }
  const last = Math.max(graph.columns - 1, ...added.map((node) => node.column + (first > 0 ? 1 : 0)));
  const nodes = graph.nodes.map((node) => (node.kind === "outputs" ? { ...node, column: last } : node));
  const edges = links.flatMap(({ from, to }) => tensorsOf(keys.get(from) ?? "", keys.get(to) ?? "", modelOf(known, to)));
  return {
    nodes: [...nodes, ...added],
    edges: [...graph.edges, ...edges],
    columns: last + 1,
    rows: Math.max(graph.rows, ...heights.values()),
  };
}

/** Whom the model calls as far as anybody saw; the steps of an ensemble. */
function ledTo(name: string, { calls, specs }: Known): string[] {
  const called = calls.filter((one) => one.caller === name).map((one) => one.callee);
  return [...new Set([...called, ...(specs.get(name)?.steps.map((step) => step.model) ?? [])])];
}

/** All links that these lead to, and those of them that close no ring. */
function linksFrom(names: readonly string[], next: (name: string) => readonly string[]): { links: Link[]; forward: Link[] } {
  const links: Link[] = [];
  const forward: Link[] = [];
  const seen = new Map<string, "under way" | "done">();
  const visit = (from: string): void => {
    seen.set(from, "under way");
    for (const to of next(from)) {
      links.push({ from, to });
      if (seen.get(to) === "under way") continue;
      forward.push({ from, to });
      if (!seen.has(to)) visit(to);
    }
    seen.set(from, "done");
  };
  for (const name of names) if (!seen.has(name)) visit(name);
  return { links, forward };
}

const modelOf = ({ models }: Known, name: string): PipelineModel | undefined => models.find((one) => one.name === name);

/** What the callee takes, and what it gives back; one edge without a tensor where nobody knows. */
function tensorsOf(from: string, to: string, callee: PipelineModel | undefined): PipelineEdge[] {
  const given = (callee?.inputs ?? []).map((one) => ({ from, to, tensor: one.name, type: typeText(one), via: "call" as const }));
  const back = (callee?.outputs ?? []).map((one) => ({ from, to, tensor: one.name, type: typeText(one), via: "answer" as const }));
  return given.length + back.length > 0 ? [...given, ...back] : [{ from, to, tensor: "", type: "", via: "call" }];
}

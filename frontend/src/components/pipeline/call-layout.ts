/** Where calls between models are drawn: what goes right, and what goes back below the boxes. Pure. */
import type { PipelineEdge, PipelineGraph, StepText } from "./graph";

/** Height of what is said of one tensor, and of a line of figures. */
export const LABEL = 28;
export const LINE = 14;
/** Between lines that go back, which hang below each other. */
const APART = 24;

/** A box. */
export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
  column: number;
}

/** Of one caller and callee the edges between them. */
export type Call = readonly [PipelineEdge, ...PipelineEdge[]];

export const callKey = (from: string, to: string): string => `${from}>${to}`;
export const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
export const named = (edges: readonly PipelineEdge[]): PipelineEdge[] => edges.filter((edge) => edge.tensor);
const linesOf = (text: StepText | undefined): number => (text ? text.lines.length + text.marks.length : 0);

/** Calls that go right, and those that go back: of themselves, or in a ring. */
export function callsIn(graph: PipelineGraph): { onward: Call[]; back: Call[] } {
  const columns = new Map(graph.nodes.map((node) => [node.key, node.column]));
  const found = new Map<string, [PipelineEdge, ...PipelineEdge[]]>();
  for (const edge of graph.edges) {
    if (!edge.via) continue;
    const key = callKey(edge.from, edge.to);
    const known = found.get(key);
    if (known) known.push(edge);
    else found.set(key, [edge]);
  }
  const goesBack = ([{ from, to }]: Call): boolean => (columns.get(to) ?? 0) <= (columns.get(from) ?? 0);
  const calls = [...found.values()];
  return { onward: calls.filter((call) => !goesBack(call)), back: calls.filter(goesBack) };
}

/** How high the labels left of the callee with most of them are: figures of all who call it, and its tensors once. */
export function stackHeight(onward: readonly Call[], texts: ReadonlyMap<string, StepText>): number {
  const found = new Map<string, number>();
  for (const call of onward) {
    const [{ from, to }] = call;
    const before = found.get(to) ?? named(call).length * LABEL;
    found.set(to, before + linesOf(texts.get(callKey(from, to))) * LINE);
  }
  return Math.max(0, ...found.values());
}

/** How far below its boxes a line hangs that goes back; `number` others hang above it. `labels` is what hangs there anyway. */
export const dip = (number: number, labels: number): number => Math.max(0, labels) + (number + 1) * APART;

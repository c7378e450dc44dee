/** What the placement step draws: each node with its GPUs now and after, and what speaks against it. */
import { t } from "@lingui/core/macro";
import type { NodeVerdict, PlacementPreview } from "@/api/placement";
import type { NodeItem } from "@/api/types";
import { bytes } from "@/components/format";
import type { ConfigFields } from "./config-fields";

export interface GpuBar {
  index: number;
  uuid: string;
  name: string;
  total: number;
  used: number;
  /** What the replicas placed on it are thought to add. */
  added: number;
}

export interface NodeCard {
  node: NodeItem;
  verdict: NodeVerdict;
  /** Replicas that would go there. */
  replicas: number;
  gpus: GpuBar[];
  warnings: string[];
}

/** "0–3", "0, 2", "none". */
export function indexRange(indices: readonly number[]): string {
  const [first] = indices;
  const last = indices.at(-1);
  if (first === undefined || last === undefined) return t`none`;
  return indices.length > 2 && last - first === indices.length - 1 ? `${first}–${last}` : indices.join(", ");
}

/** What the text asks of GPUs and this node does not have. */
export function gpuWarnings(fields: Pick<ConfigFields, "instanceKind" | "gpus">, node: Pick<NodeItem, "name" | "info">): string[] {
  const known = node.info.gpus.map((gpu) => gpu.index).sort((a, b) => a - b);
  if (fields.instanceKind === "KIND_GPU" && known.length === 0) return [t`KIND_GPU but ${node.name} has no GPU.`];
  if (known.length === 0) return [];
  return fields.gpus
    .filter((index) => !known.includes(index))
    .map((index) => t`GPU ${index} does not exist on ${node.name} (${indexRange(known)}) or its compute capability is too low.`);
}

function barsOf(node: NodeItem, preview: PlacementPreview): GpuBar[] {
  const estimate = preview.estimate.gpu_memory_bytes;
  return node.info.gpus.map(({ index, uuid, name, memory_total_bytes, memory_used_bytes }) => {
    const replicas = preview.assigned.filter((one) => one.node === node.name && one.gpus.includes(uuid)).length;
    return { index, uuid, name, total: memory_total_bytes, used: memory_used_bytes, added: replicas * estimate };
  });
}

function memoryWarnings(bars: readonly GpuBar[]): string[] {
  return bars
    .filter((bar) => bar.added > 0 && bar.used + bar.added > bar.total)
    .map((bar) => t`Estimated ${bytes(bar.added)}, ${bytes(bar.total - bar.used)} free on GPU ${bar.index}.`);
}

/** A page of nodes: what they say, and what they have. */
export interface PlacementPage {
  preview: PlacementPreview;
  nodes: readonly NodeItem[];
}

/** The best place first; nodes that have gone meanwhile are left out, and one that changed its page is shown once. */
export function nodeCards(pages: readonly PlacementPage[], texts: readonly (ConfigFields | null)[]): NodeCard[] {
  const cards = new Map<string, NodeCard>();
  for (const { preview, nodes } of pages) {
    for (const verdict of preview.items) {
      const node = nodes.find((one) => one.name === verdict.node);
      if (!node || cards.has(node.name)) continue;
      const gpus = barsOf(node, preview);
      const asked = texts.flatMap((fields) => (fields ? gpuWarnings(fields, node) : []));
      const replicas = preview.assigned.filter((one) => one.node === node.name).length;
      cards.set(node.name, { node, verdict, replicas, gpus, warnings: [...new Set([...asked, ...memoryWarnings(gpus)])] });
    }
  }
  return [...cards.values()];
}

/** Instances of all replicas together: each model's groups on each replica. */
export function instancesIn(texts: readonly (ConfigFields | null)[]): number {
  return texts.reduce((sum, fields) => {
    if (!fields || fields.ensemble) return sum;
    return sum + (fields.instanceCount ?? 1) * Math.max(1, fields.gpus.length);
  }, 0);
}

/** What the cells of a node show. */
import { t } from "@lingui/core/macro";
import type { Overview } from "@/api/types";
import { bytes, percent } from "./format";
import { stateWord } from "./state-words";

/** What the strip needs of a node: the list of nodes and the overview have it. */
export type HeatNode = Overview["nodes"][number];

export interface HeatCell {
  id: string;
  /** 0..1 of the memory. */
  share: number;
  /** `closed`: cordoned or draining; `lost`: it does not report. */
  state: "ok" | "closed" | "lost";
  words: string;
}

const stateOf = (node: HeatNode): HeatCell["state"] => {
  if (node.state !== "online") return "lost";
  return node.cordoned || node.drain !== null ? "closed" : "ok";
};

export function cellsOf(node: HeatNode): HeatCell[] {
  const state = stateOf(node);
  const { gpus, memory_total_bytes: total, memory_used_bytes: used } = node.info;
  if (state === "lost") return [{ id: node.id, share: 0, state, words: stateWord(node.state).toLowerCase() }];
  if (gpus.length === 0) {
    return [{ id: node.id, share: total > 0 ? used / total : 0, state, words: t`no GPU, memory ${bytes(used)} of ${bytes(total)}` }];
  }
  return gpus.map((gpu) => ({
    id: `${node.id} ${gpu.index}`,
    share: gpu.memory_total_bytes > 0 ? gpu.memory_used_bytes / gpu.memory_total_bytes : 0,
    state,
    words: t`GPU ${gpu.index} ${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_total_bytes)}, ${percent(gpu.utilization)} busy`,
  }));
}

/** Which nodes the list shows. */
import type { NodeItem } from "@/api/types";

export const NODE_FILTERS = ["all", "online", "closed", "lost"] as const;
export interface NodeFilter {
  q: string;
  /** Closed: cordoned or draining. Lost: suspect or offline. */
  status: (typeof NODE_FILTERS)[number];
}

function hasStatus(node: NodeItem, status: NodeFilter["status"]): boolean {
  if (status === "all") return true;
  if (status === "lost") return node.state !== "online";
  const closed = node.cordoned || node.drain !== null;
  return node.state === "online" && closed === (status === "closed");
}

/** The text is looked for in name, address, GPU names and `label=value`. */
export function matches(node: NodeItem, { q, status }: NodeFilter): boolean {
  if (!hasStatus(node, status)) return false;
  const needle = q.trim().toLowerCase();
  const words = [
    node.name,
    node.info.address,
    ...node.info.gpus.map((gpu) => gpu.name),
    ...Object.entries(node.labels).map(([key, value]) => `${key}=${value}`),
  ];
  return words.some((word) => word.toLowerCase().includes(needle));
}

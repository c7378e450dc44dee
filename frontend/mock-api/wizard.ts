/** The wizard's part of the made-up installation: one draft at a time, and where its replicas would go. */
import { nodesOf } from "./infrastructure";
import { ago, nodes } from "./db";

const GIB = 2 ** 30;
const ESTIMATE = { download_bytes: 4 * GIB, gpu_count: 1, gpu_memory_bytes: 6 * GIB };

interface Draft {
  id: string;
  title: string;
  upload_id: string;
  data: unknown;
  revision: number;
  created_at: string;
  updated_at: string;
}
const drafts: Draft[] = [];

export const draftList = () => drafts.map(({ data: _, ...rest }) => rest);

export function draftChange(method: string, id: string | undefined, body: Record<string, unknown>): Draft | null {
  if (method === "POST") {
    const made = {
      title: "",
      upload_id: "",
      data: {},
      ...body,
      id: `d${drafts.length + 1}`,
      revision: 1,
      created_at: ago(0),
      updated_at: ago(0),
    };
    drafts.push(made);
    return made;
  }
  const found = drafts.find((one) => one.id === id);
  if (!found) return null;
  if (method === "DELETE") drafts.splice(drafts.indexOf(found), 1);
  if (method === "PUT") Object.assign(found, body, { revision: found.revision + 1, updated_at: ago(0) });
  return { ...found };
}

/** Every replica to the emptiest GPU of the nodes that take work. */
export function placementPreview(body: Record<string, unknown>, many: number) {
  const count = Number(body["instance_count"] ?? 1);
  const open = nodes.filter((node) => !node.cordoned && node.state === "online");
  const added = new Map<string, number>();
  const assigned = Array.from({ length: count }, (_, ordinal) => {
    const cards = open.flatMap((node) => node.info.gpus.map((gpu) => ({ node: node.name, gpu })));
    const load = ({ gpu }: (typeof cards)[number]) => gpu.memory_used_bytes + (added.get(gpu.uuid) ?? 0);
    const best = [...cards].sort((a, b) => load(a) - load(b))[0];
    if (!best || load(best) + ESTIMATE.gpu_memory_bytes > best.gpu.memory_total_bytes) return null;
    added.set(best.gpu.uuid, (added.get(best.gpu.uuid) ?? 0) + ESTIMATE.gpu_memory_bytes);
    return { ordinal, node: best.node, gpus: [best.gpu.uuid] };
  }).filter((one) => one !== null);
  const named = nodesOf(many).filter((node) => node.name.includes(String(body["q"] ?? "").toLowerCase()));
  const start = Number(body["cursor"] || 0);
  const end = start + Number(body["limit"] ?? 50);
  return {
    instance_count: count,
    placeable: assigned.length,
    assigned,
    why_not: assigned.length < count ? "no GPU has 6.4 GB free" : "",
    instance_type: "gpu",
    estimate: ESTIMATE,
    fitting: many || open.length,
    matching: named.length,
    next_cursor: end < named.length ? String(end) : null,
    items: named.slice(start, end).map((node) => {
      const fits = !node.cordoned && node.state === "online";
      return {
        node: node.name,
        rank: fits ? 1 : null,
        reason: fits ? null : "cordoned: it takes no new replicas",
        because: fits ? "0 of this deployment and 3 in all run there, 812 GB of disk are free" : "cordoned: it takes no new replicas",
        checks: [
          { name: "reports", ok: true, detail: "online, last report 1 s ago" },
          { name: "schedulable", ok: fits, detail: fits ? "takes new replicas" : "cordoned: it takes no new replicas" },
        ],
        gpus: [],
      };
    }),
  };
}

/** Nodes, the system and the log of the made-up installation. */
import type { CachedBlob, DrainMove, EventItem, JoinTokenMade, System, SystemPart } from "../src/api/types";
import { ago, events, nodes } from "./db";

function part(
  kind: SystemPart["kind"],
  name: string,
  state: SystemPart["state"],
  summary: string,
  over: Partial<SystemPart> = {},
): SystemPart {
  return { kind, name, state, summary, hint: "", facts: [], lag_s: null, depth: null, ...over };
}

const fact = (name: string, value: string) => ({ name, value });

function nodeFits(node: (typeof nodes)[number], q: string, status: string | null): boolean {
  const state = node.state !== "online" ? "lost" : node.cordoned ? "closed" : "online";
  const labels = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`);
  const words = [node.name, node.info.address, ...node.info.gpus.map((gpu) => gpu.name), ...labels];
  return (!status || state === status) && words.some((word) => word.toLowerCase().includes(q.toLowerCase()));
}

const GPUS_OF_MANY = 8;

/** `many`: so many nodes, made of the first, with eight GPUs each. */
export const nodesOf = (many: number) => {
  const [first] = nodes as [(typeof nodes)[number]];
  const { gpus } = first.info;
  const eight = Array.from({ length: GPUS_OF_MANY }, (_, index) => ({
    ...(gpus[index % gpus.length] as (typeof gpus)[number]),
    index,
    uuid: `GPU-${index}`,
  }));
  return Array.from({ length: many || nodes.length }, (_, index) => {
    const name = `node-${String(index).padStart(5, "0")}`;
    return many ? { ...first, id: name, name, info: { ...first.info, gpus: eight } } : (nodes[index] as typeof first);
  });
};

/** In pages as the server makes them. */
export function nodePage(query: URLSearchParams, many: number) {
  const names = query.get("names")?.split(",");
  const found = nodesOf(many).filter(
    (node) => (!names || names.includes(node.name)) && nodeFits(node, query.get("q") ?? "", query.get("status")),
  );
  const start = Number(query.get("cursor") ?? 0);
  const end = start + Number(query.get("limit") ?? 50);
  return { items: found.slice(start, end), next_cursor: end < found.length ? String(end) : null, total: found.length };
}

export const system = (): System => ({
  state: "warning",
  version: "0.1.0",
  now: new Date().toISOString(),
  newest_event_seq: 899,
  newest_event_at: ago(40),
  parts: [
    part("web", "Studio and REST", "ok", "answers: you are reading it", {
      facts: [fact("version", "0.1.0"), fact("running for", "9 days")],
    }),
    part("database", "Main database", "ok", "answers in 0.4 ms", { facts: [fact("engine", "postgresql")] }),
    part("database", "Metrics database", "ok", "answers in 0.6 ms", { facts: [fact("engine", "postgresql")] }),
    part("broker", "Redis", "ok", "answers in 0.3 ms", {
      facts: [fact("server", "Redis 7.2.4"), fact("memory", "3.1 MiB"), fact("clients", "14"), fact("running for", "9 days")],
    }),
    part("beat", "Beat", "ok", "last seen 4 s ago"),
    part("worker", "Worker of control", "ok", "last did a job 4 s ago", {
      lag_s: 0.012,
      depth: 0,
      facts: [fact("worker", "control@studio-1")],
    }),
    part("worker", "Worker of ingest", "warning", "last did a job 38 s ago", {
      hint: "Is the worker running, and not busy with something long? Is beat running?",
      lag_s: 21.4,
      depth: 3,
      facts: [fact("worker", "ingest@studio-1")],
    }),
    part("gateway", "edge-1", "ok", "last reported 2 s ago", {
      facts: [fact("version", "8c1f0a77d2e4"), fact("clients see", "by the installation, until 2026-04-01")],
    }),
    part("agent", "node-a1", "ok", "last reported 2 s ago", { facts: [fact("version", "0.1.0")] }),
    part("agent", "node-a2", "ok", "last reported 1 s ago", { facts: [fact("version", "0.1.0")] }),
    part("certificate", "Endpoints' authority", "ok", "3,640 days left", {
      facts: [
        fact("SHA-256", "7A:1C:E0:5D:92:BF:33:48:AE:06:D1:7F:C4:58:29:EB:70:94:0D:F6:2B:8E:61:35:DA:47:1B:9C:E8:53:A0:6F"),
        fact("ends", "2036-01-01"),
        fact("file", "/srv/shoal/tls/ca.pem"),
      ],
    }),
    part("disk", "Model files", "ok", "212.0 GiB free of 480.0 GiB", { facts: [fact("folder", "/srv/shoal/blobs")] }),
  ],
});

const FINGERPRINT = "9c41e07b".repeat(8);

export const joinToken: JoinTokenMade = {
  id: 4,
  prefix: "sjoin_7Qm2vX",
  created_by: "maria",
  created_at: ago(1),
  expires_at: ago(-3_500),
  used_at: null,
  node: null,
  token: `sjoin_7Qm2vX8bRt0pLw.${FINGERPRINT}`,
  command: `SHOAL_CONTROL_URL=https://studio.example:8445 SHOAL_JOIN_TOKEN=sjoin_7Qm2vX8bRt0pLw.${FINGERPRINT} python -m node_agent`,
  fingerprint: FINGERPRINT,
};

/** The made-up node joins as soon as somebody looks a third time. */
let looks = 0;
export function joinTokenState() {
  looks += 1;
  const { token: _, command: __, fingerprint: ___, ...row } = joinToken;
  return looks > 2 ? { ...row, used_at: ago(0), node: "node-a1" } : row;
}

export const cachedBlobs = (): CachedBlob[] =>
  ["resnet50/1/model.onnx", "resnet50/config.pbtxt", "tokenizer/1/model.py", ""].map((path, index) => ({
    sha256: `${index}4be1c0ffee`.repeat(6).slice(0, 64),
    size: [97.8 * 2 ** 20, 612, 4_180, 2.1 * 2 ** 30][index]!,
    used_at: ago([40, 3_600, 90_000, 860_000][index]!),
    in_use: index < 2,
    files: path
      ? [
          { model: path.split("/")[0]!, version: 3, path },
          { model: path.split("/")[0]!, version: 2, path },
        ].slice(0, index === 1 ? 2 : 1)
      : [],
  }));

export function drainMoves(names: readonly string[]): DrainMove[] {
  const leaving = nodes.filter((node) => names.includes(node.name));
  return leaving
    .flatMap((node) => node.replicas.map((replica) => ({ node, replica })))
    .map(({ node, replica }, index) => ({
      replica: replica.id,
      node: node.name,
      endpoint: replica.endpoint,
      deployment: replica.deployment,
      ordinal: replica.ordinal,
      traffic: replica.deployment === "blue" ? 80 : 20,
      to: index === 3 || names.includes("node-a2") ? null : "node-a2",
      why_not: index === 3 || names.includes("node-a2") ? "node-a2: has not 1 GPU with 8 GiB free" : "",
      waits_for: index === 1 ? `${replica.deployment} is Updating` : "",
    }));
}

const DATA: Record<string, Record<string, unknown>> = {
  "traffic.set": { traffic: { blue: 80, green: 20 }, before: { blue: 100 }, operation: "0b7c1e52-aa" },
};

/** More than a page of 500: what is old is there, too. */
const LONG_AGO: EventItem[] = Array.from({ length: 700 }, (_, index) => ({
  seq: 800 - index,
  at: ago(100_000 + index * 60),
  actor: "maria",
  verb: index % 2 ? "endpoint.keys_revealed" : "traffic.set",
  subject: "endpoint/resnet50-prod",
  severity: "info",
  message: index % 2 ? `maria looked at the keys (${index})` : `Traffic set to blue 80, green 20 (${index})`,
  data: {},
  link: null,
  digest: "",
}));

/** Filtered as the server filters. */
export function eventPage(query: URLSearchParams): { items: EventItem[]; next_cursor: string | null } {
  const text = (query.get("q") ?? "").toLowerCase();
  const kind = query.get("kind");
  const found = [...events, ...LONG_AGO]
    .map((event) => ({ ...event, data: DATA[event.verb] ?? event.data }))
    .filter(
      (event) =>
        (!query.get("subject") || event.subject === query.get("subject")) &&
        (!kind || event.subject === kind || event.subject.startsWith(`${kind}/`)) &&
        (!query.get("actor") || event.actor === query.get("actor")) &&
        (!query.get("severity") || event.severity === query.get("severity")) &&
        (query.get("looks") !== "false" || event.verb !== "endpoint.keys_revealed") &&
        event.seq < Number(query.get("cursor") || Number.MAX_SAFE_INTEGER) &&
        `${event.message} ${event.verb} ${event.subject}`.toLowerCase().includes(text),
    );
  const limit = Number(query.get("limit") ?? 100);
  const items = found.slice(0, limit);
  return { items, next_cursor: found.length > limit ? String(items.at(-1)?.seq) : null };
}

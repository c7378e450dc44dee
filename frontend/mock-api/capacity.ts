/** Capacity of the made-up installation: its two nodes, what runs there, and prices. */
import type { Capacity, CapacityAmount, CapacityDeployment, CapacityNode, Prices, Room, WasteItem, WhatIf } from "../src/api/types";
import { nodes } from "./db";
import { permissions } from "./people";
import type { MockAnswer } from "./answers";

const amount = (total: number, used: number, promised: number): CapacityAmount => ({
  total,
  used,
  promised,
  idle: Math.max(0, total - Math.max(used, promised)),
});
const sum = (rows: CapacityAmount[]): CapacityAmount => ({
  total: rows.reduce((found, row) => found + row.total, 0),
  used: rows.reduce((found, row) => found + row.used, 0),
  promised: rows.reduce((found, row) => found + row.promised, 0),
  idle: rows.reduce((found, row) => found + row.idle, 0),
});

let prices: Prices = {
  currency: "EUR",
  instance_types: { "gpu-a10": 1.1 },
  nodes: { "node-a2": 0.4 },
  labels: [{ key: "zone", value: "a", per_hour: 0.6 }],
};

const capacityNodes = (): CapacityNode[] =>
  nodes.map(({ name, info, cordoned }, index) => {
    const memory = info.gpus.reduce((found, gpu) => found + gpu.memory_total_bytes, 0);
    const given = index === 0 ? 3 : 0;
    const cards = info.gpus.map((gpu, place) => amount(1, gpu.utilization ?? 0, place < given ? 1 : 0));
    const gpus = sum(cards);
    return {
      idle: gpus.idle / gpus.total,
      name,
      online: true,
      cordoned,
      replicas: index === 0 ? 6 : 2,
      per_hour: index === 0 ? 0.6 : 0.4,
      processors: amount(info.cpu_count, info.cpu_count * info.cpu_utilization, 8 - index * 6),
      memory: amount(info.memory_total_bytes, info.memory_used_bytes, (32 >> index) * 2 ** 30),
      gpus,
      gpu_memory: amount(
        memory,
        info.gpus.reduce((found, gpu) => found + gpu.memory_used_bytes, 0),
        given * 18 * 2 ** 30,
      ),
    };
  });

/** The idlest first. */
function page(query: URLSearchParams, many: number) {
  const made = capacityNodes().reverse();
  const all = Array.from({ length: many || made.length }, (_, index) =>
    many ? { ...(made[1] as CapacityNode), name: `node-${String(index).padStart(5, "0")}` } : (made[index] as CapacityNode),
  );
  const found = all.filter((node) => node.name.includes((query.get("q") ?? "").toLowerCase()));
  const start = Number(query.get("cursor") ?? 0);
  const end = start + Number(query.get("limit") ?? 50);
  return { items: found.slice(start, end), next_cursor: end < found.length ? String(end) : null, total: found.length };
}

const cost = (perHour: number | null, per1000: number | null = null, unpriced = 0): CapacityDeployment["cost"] => ({
  per_hour: perHour,
  per_day: perHour === null ? null : perHour * 24,
  per_1000_requests: per1000,
  unpriced,
});

const deployment = (endpoint: string, name: string, over: Partial<CapacityDeployment>): CapacityDeployment => ({
  endpoint,
  deployment: name,
  project: "default",
  traffic: 100,
  replicas: 2,
  gpus: 0,
  measured: null,
  headroom: { times: null, limit: "", because: "Nothing of it was measured in the last day." },
  cost: cost(null, null, 1),
  ...over,
});

const measured = (rate: number, busy: number): NonNullable<CapacityDeployment["measured"]> => ({
  seconds: 86_400,
  requests: Math.round(rate * 40_000),
  request_rate: rate,
  busy,
  cpu: 3.2,
  concurrency: rate * 0.02,
  memory_bytes: 6.2 * 2 ** 30,
});

const deployments = (): CapacityDeployment[] => [
  deployment("digits", "blue", {
    measured: measured(412, 0.18),
    headroom: {
      times: 2.4,
      limit: "processors",
      because: "It used 3.2 processors in its busiest hour, and 4.5 were free on its 2 node(s) in theirs.",
    },
    cost: cost(0.46, 0.0007),
  }),
  deployment("resnet50-prod", "blue", {
    traffic: 90,
    replicas: 3,
    gpus: 3,
    project: "vision",
    measured: measured(94, 0.62),
    headroom: { times: 1.6, limit: "instances", because: "Its models' instances were at work 62% of its busiest hour." },
    cost: cost(3.3, 0.0211),
  }),
  deployment("resnet50-prod", "green", { traffic: 10, replicas: 1, project: "vision" }),
  deployment("sentiment", "blue", { measured: { ...measured(0, 0), requests: 0, request_rate: 0 }, cost: cost(0.46) }),
];

const capacity = (empty: boolean, all: boolean): Capacity => {
  const rows = empty ? [] : capacityNodes();
  return {
    nodes: rows.length,
    nodes_online: rows.length,
    currency: empty ? "" : prices.currency,
    priced: !empty && prices.currency !== "",
    totals: {
      replicas: empty ? 0 : 8,
      processors: sum(rows.map((row) => row.processors)),
      memory: sum(rows.map((row) => row.memory)),
      gpus: sum(rows.map((row) => row.gpus)),
      gpu_memory: sum(rows.map((row) => row.gpu_memory)),
    },
    projects: empty
      ? []
      : [
          { project: "default", deployments: 2, replicas: 4, gpus: 0, per_hour: 0.92, per_day: 22.1, unpriced: 0 },
          { project: "vision", deployments: 2, replicas: 4, gpus: 3, per_hour: 3.3, per_day: 79.2, unpriced: 1 },
        ].filter((one) => all || one.project === "vision"),
  };
};

const WASTE: WasteItem[] = [
  {
    code: "deployment-unused",
    kind: "deployment",
    subject: "sentiment/blue",
    title: "sentiment/blue answers nobody",
    text: "Its 2 replica(s) had no request in the last 24 h.",
    change: "Pause it, or let its autoscaling go to zero replicas.",
  },
  {
    code: "node-can-be-emptied",
    kind: "node",
    subject: "node-a2",
    title: "node-a2 could be emptied",
    text: "Its 2 replica(s) would fit on other nodes now.",
    change: "See where they would go, then drain it: shoal node drain --dry-run node-a2.",
  },
];

/** node-a1 has the GPUs, so that what needs one finds no other place. */
function whatIf(lost: string[]): WhatIf {
  const hard = lost.includes("node-a1");
  return {
    lost,
    replicas: [
      { replica: "r1", endpoint: "digits", deployment: "blue", ordinal: 0, node: lost[0] ?? "", to: lost.length > 1 ? null : "node-a3" },
      ...(hard ? [{ replica: "r2", endpoint: "resnet50-prod", deployment: "blue", ordinal: 0, node: "node-a1", to: null }] : []),
    ],
    deployments: [
      { endpoint: "digits", deployment: "blue", traffic: 100, replicas: 2, lost: 1, placed: 1, ready_left: 1, reasons: [] },
      ...(hard
        ? [
            {
              endpoint: "resnet50-prod",
              deployment: "blue",
              traffic: 90,
              replicas: 1,
              lost: 1,
              placed: 0,
              ready_left: 0,
              reasons: [{ reason: "NVIDIA A10 has 2.1 GB free", nodes: 1 }],
            },
          ]
        : []),
    ],
    endpoints: hard ? [{ endpoint: "resnet50-prod", traffic_lost: 90, comes_back: false }] : [],
  };
}

const ok = (body: unknown): MockAnswer => ({ status: 200, body });
const refused: MockAnswer = {
  status: 403,
  body: { title: "Forbidden", status: 403, code: "Forbidden", detail: "This needs the role viewer.", hints: [] },
};

const wasteOf = (many: number): readonly WasteItem[] =>
  many
    ? Array.from({ length: many }, (_, index) => ({
        ...(WASTE[0] as WasteItem),
        subject: `endpoint-${index}/blue`,
        title: `endpoint-${index}`,
      }))
    : WASTE;

/** `many`: so many deployments, made of these. */
const deploymentsOf = (made: readonly CapacityDeployment[], many: number): readonly CapacityDeployment[] =>
  many
    ? Array.from({ length: many }, (_, index) => ({
        ...(made[index % made.length] as CapacityDeployment),
        endpoint: `endpoint-${String(index).padStart(5, "0")}`,
      }))
    : made;

export function capacityAnswer(what: string | undefined, query: URLSearchParams, many: number, empty: boolean): MockAnswer {
  const all = permissions().includes("read");
  switch (what) {
    case "nodes":
      return !all ? refused : ok(empty ? { items: [], next_cursor: null, total: 0 } : page(query, many));
    case "deployments": {
      const seen = deployments().filter((one) => all || one.project === "vision");
      const found = deploymentsOf(seen, many).filter((one) => `${one.endpoint}/${one.deployment}`.includes(query.get("q") ?? ""));
      const start = Number(query.get("cursor") ?? 0);
      const end = start + Number(query.get("limit") ?? 50);
      return ok({ items: empty ? [] : found.slice(start, end), next_cursor: end < found.length ? String(end) : null });
    }
    case "waste":
      return ok({ items: empty || !all ? [] : wasteOf(many), looked_at: empty || !all ? 0 : 1 });
    case "what-if":
      return all ? ok(whatIf(query.getAll("lost"))) : refused;
    default:
      return ok(capacity(empty, all));
  }
}

export function pricesAnswer(method: string, body: Record<string, unknown>): MockAnswer {
  if (!permissions().includes(method === "GET" ? "read" : "administer")) return refused;
  if (method === "PUT") prices = body as unknown as Prices;
  return ok(prices);
}

export const roomOf = (endpoint: string): Room =>
  endpoint === "resnet50-prod"
    ? { more: 0, at_least: false, nodes: [], reasons: [{ reason: "NVIDIA A10 has 2.1 GB free", nodes: 2 }], note: "" }
    : { more: 100, at_least: true, nodes: [{ node: "node-a1", replicas: 100 }], reasons: [], note: "" };

/** Objectives, alerts and channels of the made-up installation, and what pressing their buttons makes of them. */
import type { Alert, AlertRule, AlertThreshold, Channel, Delivery, Objective, Silence } from "../src/api/types";
import { ago } from "./db";

const pair = (speed: "fast" | "slow", long_s: number, short_s: number, factor: number, long_rate: number, short_rate: number) => ({
  speed,
  long_s,
  short_s,
  factor,
  long_rate,
  short_rate,
  long_requests: 48_200,
  burning: long_rate > factor && short_rate > factor,
});

const made = { endpoint: "resnet50-prod", created_by: "maria", created_at: ago(900_000), updated_at: ago(900_000), told: "" };
let objectives: Objective[] = [
  {
    ...made,
    name: "answered",
    kind: "availability",
    target_percent: 99.9,
    window_days: 28,
    threshold_ms: null,
    state: "burning",
    requests: 4_182_330,
    bad_requests: 2_614,
    good_percent: 99.9375,
    budget_left: 0.375,
    burn_rates: [
      pair("fast", 3600, 300, 14.4, 18.2, 22.6),
      pair("fast", 21_600, 1800, 6, 4.1, 19),
      pair("slow", 259_200, 21_600, 1, 0.9, 4.1),
    ],
  },
  {
    ...made,
    name: "quick",
    kind: "latency",
    target_percent: 99,
    window_days: 7,
    threshold_ms: 250,
    state: "ok",
    requests: 1_045_100,
    bad_requests: 2_050,
    good_percent: 99.804,
    budget_left: 0.804,
    burn_rates: [
      pair("fast", 3600, 300, 14.4, 0.2, 0.1),
      pair("fast", 21_600, 1800, 6, 0.2, 0.2),
      pair("slow", 259_200, 21_600, 1, 0.2, 0.2),
    ],
  },
];

export const objectivesOf = (endpoint: string) => objectives.filter((one) => one.endpoint === endpoint);
export const objectiveGone = (name: string) => {
  objectives = objectives.filter((one) => one.name !== name);
};
export function objectiveSet(endpoint: string, name: string, body: Record<string, unknown>): Objective {
  const first = objectives[0] as Objective;
  const set = { ...first, ...(body as Partial<Objective>), endpoint, name, state: "ok" as const, requests: 0, budget_left: 1 };
  objectives = [...objectives.filter((one) => one.name !== name), set];
  return set;
}

export const objectivePast = (name: string) => {
  const left = objectives.find((one) => one.name === name)?.budget_left ?? 1;
  const end = Math.floor(Date.now() / 1000);
  const points = Array.from({ length: 60 }, (_, index) => ({
    at: end - (59 - index) * 14_400,
    total: 1000,
    bad: 1,
    budget_left: index < 58 ? 1 - ((1 - left) * 0.3 * index) / 58 : left,
  }));
  return { step_s: 14_400, points };
};

const alert = (id: string, over: Partial<Alert>): Alert => ({
  id,
  rule: "queue-slow",
  title: "Requests wait long in the queue",
  severity: "ticket",
  state: "firing",
  subject: "endpoint/digits",
  part: "blue",
  project: "default",
  value: 812,
  summary: "Requests to blue waited 812 ms in the mean of the last five minutes; 500 ms is the limit.",
  untold: "",
  started_at: ago(1_300),
  fired_at: ago(1_180),
  resolved_at: null,
  resolution: "",
  acknowledged_by: "",
  acknowledged_at: null,
  notified_at: ago(1_180),
  silenced_until: null,
  silence: "",
  page: "/endpoints/digits/overview",
  runbook: "docs/runbooks/queue-slow.md",
  ...over,
});

let alerts: Alert[] = [
  alert("a1", {
    rule: "objective-fast-burn",
    title: "Error budget burns fast",
    severity: "page",
    subject: "endpoint/resnet50-prod",
    part: "answered",
    summary: "answered promises 99.9 % without a 5xx: its burn rate is 18.2 over 1 h and 22.6 over 5 min, 14.4 is the limit.",
    started_at: ago(190),
  }),
  alert("a2", {}),
  alert("a3", {
    rule: "node-silent",
    title: "Node is silent",
    subject: "node/node-a1",
    part: "",
    project: null,
    summary: "Nothing was heard of the agent for 96 s; 60 s is the limit.",
    acknowledged_by: "jonas",
    started_at: ago(2_700),
  }),
  alert("a4", { state: "resolved", resolved_at: ago(86_400), resolution: "The rule holds again.", started_at: ago(90_000) }),
];
let silences: Silence[] = [
  {
    id: "s1",
    rule: "queue-slow",
    subject: "endpoint/resnet50-prod",
    project: "default",
    reason: "Load test until noon",
    starts_at: ago(3_600),
    ends_at: ago(-7_200),
    created_by: "jonas",
  },
];
let channels: Channel[] = [
  {
    name: "on-call",
    kind: "webhook",
    enabled: true,
    address: "https://hooks.example.org",
    recipients: [],
    severities: ["page"],
    projects: [],
    signed: true,
    created_by: "maria",
    created_at: ago(900_000),
    updated_at: ago(900_000),
  },
];
const own = (about: string, threshold: number, changed_by = "jonas"): AlertThreshold => ({
  rule: "queue-slow",
  about,
  threshold,
  effective: threshold,
  source: about,
  installation: 500,
  unit: "ms",
  changed_by,
  changed_at: ago(5_400),
  etag: `W/"${about} ${threshold}"`,
});
let thresholds: AlertThreshold[] = [own("endpoint/resnet50-prod", 250), own("project/vision", 800)];
const rules: AlertRule[] = [
  {
    name: "queue-slow",
    title: "Requests wait long in the queue",
    about: "Mean wait in the queues of a deployment's replicas over the last five minutes.",
    enabled: true,
    threshold: 500,
    default_threshold: 500,
    unit: "ms",
    for_s: 120,
    clear_s: 120,
    severity: "ticket",
    runbook: "docs/runbooks/queue-slow.md",
    steps: [
      "More comes in than is answered: scale the deployment, or give it a policy (docs/autoscaling.md).",
      "Look whether instances are at work all the time (`busy`); if not, look at batching delays in the model's configuration.",
    ],
    kinds: ["project", "endpoint"],
    thresholds: [],
  },
];
const shown = (): AlertRule[] => rules.map((one) => ({ ...one, thresholds }));

/** One threshold of its own: set, or removed, where it is as it was seen. */
function thresholdAnswer(method: string, about: string, body: Record<string, unknown>, ifMatch: string | null) {
  const now = thresholds.find((one) => one.about === about);
  if (ifMatch !== null && ifMatch !== now?.etag) {
    const changed = { by: "jonas", at: ago(30), what: "It became 900" };
    return { status: 412, body: { code: "PreconditionFailed", title: "It was changed since you read it.", current: now, changed } };
  }
  thresholds = thresholds.filter((one) => one !== now);
  if (method === "PUT") thresholds = [...thresholds, own(about, Number(body["threshold"]), "maria")];
  return { status: 200, body: thresholds.at(-1) ?? null };
}
const delivery: Delivery = {
  id: "d1",
  channel: "on-call",
  event: "firing",
  alert: "a1",
  status: "delivered",
  attempts: 2,
  next_at: null,
  created_at: ago(190),
  delivered_at: ago(184),
  replay_of: "",
  log: [
    { at: ago(190), ms: 5_002, status: null, error: "hooks.example.org did not answer: timed out" },
    { at: ago(184), ms: 88, status: 200, error: "" },
  ],
  message: {},
};
let deliveries: Delivery[] = [delivery];

/** What is below `/alerts`, `/alert-rules`, `/silences` and `/channels`; undefined for a path that is none of these. */
export function alertAnswer(
  method: string,
  path: string[],
  query: URLSearchParams,
  body: Record<string, unknown>,
  empty: boolean,
  ifMatch: string | null,
): { status: number; body: unknown } | undefined {
  const [section, id, what, , verb] = path;
  const ok = (answer: unknown, status = 200) => ({ status, body: answer });
  const list = (items: unknown[]) => ok({ items: empty ? [] : items, next_cursor: null });
  if (section === "alerts" && id === "counts") {
    const firing = empty ? [] : alerts.filter((one) => one.state === "firing");
    return ok({ open: firing.filter((one) => !one.acknowledged_by && !one.silence).length, firing: firing.length, pending: 0 });
  }
  if (section === "alerts" && id) {
    alerts = alerts.map((one) => (one.id === id ? { ...one, acknowledged_by: "maria" } : one));
    return ok(alerts.find((one) => one.id === id));
  }
  if (section === "alerts") {
    const states = (query.get("state") ?? "pending,firing,resolved").split(",");
    return list(alerts.filter((one) => states.includes(one.state)));
  }
  if (section === "alert-rules" && what) return thresholdAnswer(method, path.slice(3).join("/"), body, ifMatch);
  if (section === "alert-rules") return id ? ok({ ...shown()[0], ...body }) : list(shown());
  if (section === "silences" && method === "POST") {
    const silence = { ...silences[0], ...(body as Partial<Silence>), id: `s${silences.length + 1}` } as Silence;
    silences = [silence, ...silences];
    alerts = alerts.map((one) => (one.subject === silence.subject ? { ...one, silence: silence.id } : one));
    return ok(silence, 201);
  }
  if (section === "silences") return id ? ok({ ...silences[0], ends_at: ago(0) }) : list(silences);
  if (section !== "channels") return undefined;
  if (!id && method === "POST") {
    const name = String(body["name"]);
    if (channels.some((one) => one.name === name)) {
      const detail = `There is a channel called ${name} already.`;
      return ok({ title: "Conflict", status: 409, code: "ChannelExists", detail, hints: [] }, 409);
    }
    const channel = { ...channels[0], ...(body as Partial<Channel>), signed: body["kind"] === "webhook", address: "https://example.org" };
    channels = [...channels, channel as Channel];
    return ok({ ...channel, secret: channel.signed ? "kJ2n8vQ1xZ4bT7" : "" }, 201);
  }
  if (!id) return list(channels);
  if (what === "test" || verb === "replay") {
    deliveries = [{ ...delivery, id: `d${deliveries.length + 1}`, event: what === "test" ? "test" : "firing" }, ...deliveries];
    return ok(deliveries[0], verb === "replay" ? 201 : 200);
  }
  if (what === "deliveries") return list(deliveries);
  if (method === "DELETE") {
    channels = channels.filter((one) => one.name !== id);
    return ok(null, 204);
  }
  return ok({ ...channels.find((one) => one.name === id), ...body });
}

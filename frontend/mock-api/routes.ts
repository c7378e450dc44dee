/** Answers of `/api/v1` from the made-up installation. */
import type { Overview, RepoModel } from "../src/api/types";
import { ago, endpoints, events, models, nodes, operations, versions } from "./db";
import { environments, named } from "./environments";
import { cachedBlobs, drainMoves, eventPage, joinToken, joinTokenState, nodePage, system } from "./infrastructure";
import { buckets, compared, history, hour, quarter, replicaBuckets } from "./live";
import { instanceTypes, members, people, permissions, projects, role, serviceAccounts, sessions, tokens } from "./people";
import { bottlenecksOf } from "./bottlenecks";
import { capacityAnswer, pricesAnswer, roomOf } from "./capacity";
import { experimentOf } from "./experiments";
import { requestsOf, storyOf } from "./requests";
import { sweepAnswer, sweepBegun, sweepsOf } from "./sweeps";
import { tuningAnswer, tuningBegun, tuningsOf } from "./tunings";
import { PIPELINE_CONFIG, pipelineOf } from "./pipelines";
import { baselineGone, baselineSet, capturedOf, statisticsOf } from "./capture";
import { alertAnswer, objectiveGone, objectivePast, objectiveSet, objectivesOf } from "./alerts";
import { caseRoute, casesAsked } from "./cases";
import { DIFFERENCES, rolloutBegun, rolloutChanged, rolloutsOf } from "./rollouts";
import { trialBegun, trialNow } from "./trials";
import { draftChange, draftList, placementPreview } from "./wizard";

export interface MockRequest {
  method: string;
  path: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
  ifMatch: string | null;
}
export interface MockAnswer {
  status: number;
  body: unknown;
}

const MANY = new URLSearchParams(location.search).get("many") ?? 0;
const state = {
  authenticated: localStorage.getItem("mock.signed-out") !== "1",
  secondFactor: false,
  empty: new URLSearchParams(location.search).has("empty"),
  /** By the address that the page was opened at, or as a test wishes. */
  get many() {
    return Number(localStorage.getItem("mock.many") ?? MANY);
  },
};
const ok = (body: unknown, status = 200): MockAnswer => ({ status, body });
const list = (items: unknown[]): MockAnswer => ok({ items, next_cursor: null, total: items.length });
const missing = (what: string): MockAnswer => ({
  status: 404,
  body: { type: "about:blank", title: "Not found", status: 404, detail: `${what} does not exist.`, code: "NotFound", hints: [] },
});
const user = () => ({
  username: "maria",
  role: role(),
  permissions: permissions(),
  projects:
    role() === "member" ? [{ name: "vision", role: "deployer" as const, permissions: ["read", "invoke", "keys", "deploy"] as const }] : [],
  sign_in: "password" as const,
  second_factor: state.secondFactor ? ("on" as const) : ("off" as const),
});
/** What a role lacks, refused as the server would. */
const refused = (needed: string): MockAnswer => ({
  status: 403,
  body: {
    title: "Forbidden",
    status: 403,
    code: "Forbidden",
    detail: `This needs the permission ${needed}; maria is ${role()}.`,
    hints: [],
  },
});

const wrong = (code: string): MockAnswer => ({ status: 401, body: { title: "Refused", detail: "It is wrong.", status: 401, code } });

function session(method: string, body: Record<string, unknown>): MockAnswer {
  if (method === "POST" && body["password"] === "wrong") {
    return {
      status: 401,
      body: { title: "Sign-in failed", detail: "The name or the password is wrong.", status: 401, code: "BadCredentials" },
    };
  }
  if (method === "POST" && state.secondFactor && body["code"] !== "123456") return wrong(body["code"] ? "CodeWrong" : "CodeNeeded");
  if (method === "POST") state.authenticated = true;
  if (method === "DELETE") state.authenticated = false;
  return ok({
    authenticated: state.authenticated,
    user: state.authenticated ? user() : null,
    csrf_token: "mock",
    version: "0.1.0",
    ways: { passwords: true, oidc: null },
  });
}

/** The code is 123456, whatever the secret. */
function secondFactor(method: string, step: string | undefined, body: Record<string, unknown>): MockAnswer {
  if (method === "GET") return ok({ state: state.secondFactor ? "on" : "off", recovery_codes_left: state.secondFactor ? 2 : 0 });
  if (body["password"] === "wrong") return wrong("BadCredentials");
  if (step === undefined) {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><path d="M0 0h2v2H0zM2 2h2v2H2z"/></svg>';
    return ok({ secret: "JBSWY3DPEHPK3PXP", uri: "otpauth://totp/Shoal:maria?secret=JBSWY3DPEHPK3PXP", qr_svg: svg });
  }
  if (body["code"] !== "123456") return wrong("CodeWrong");
  state.secondFactor = step === "confirm";
  return state.secondFactor ? ok({ recovery_codes: ["k3vq-7mzt-p2xd-n5ah", "w6rb-q4yc-h7ul-e3gj"] }) : ok({});
}

function totalsOf(live: Overview["endpoints"][number]["live"][], machines: typeof nodes): Overview["totals"] {
  const rate = live.reduce((sum, each) => sum + (each.request_rate ?? 0), 0);
  const failed = live.reduce((sum, each) => sum + (each.error_rate ?? 0) * (each.request_rate ?? 0), 0);
  const slowest = live.reduce((top, each, index) => ((each.p95_us ?? 0) > (live[top]?.p95_us ?? 0) ? index : top), 0);
  const gpus = machines.flatMap((node) => node.info.gpus);
  const [disk] = machines;
  return {
    request_rate: live.length > 0 ? rate : null,
    error_rate: rate > 0 ? failed / rate : null,
    slowest: live.length > 0 ? { endpoint: endpoints[slowest]?.name ?? "", p95_us: live[slowest]?.p95_us ?? 0 } : null,
    utilization: gpus.length > 0 ? gpus.reduce((sum, gpu) => sum + (gpu.utilization ?? 0), 0) / gpus.length : 0.2,
    gpus_online: gpus.length,
    gpus: gpus.length,
    gpu_name: gpus[0]?.name ?? "",
    gpu_memory_bytes: gpus.reduce((sum, gpu) => sum + gpu.memory_total_bytes, 0),
    least_disk: disk ? { node: disk.name, free_bytes: disk.info.disk_free_bytes, total_bytes: disk.info.disk_total_bytes } : null,
  };
}

function overview(): Overview {
  if (state.empty) {
    return {
      counts: { endpoints: 0, models: 0, nodes: 1, nodes_online: 1, replicas_ready: 0, replicas_total: 0, attention: 0 },
      totals: totalsOf([], nodes.slice(0, 1)),
      attention: [],
      endpoints: [],
      nodes: nodes.slice(0, 1).map((node) => ({ ...node, replicas: [] })),
      recent_operations: [],
      recent_events: [],
    };
  }
  const live = [
    { request_rate: 1017, p95_us: 7580, error_rate: 0.0006, answer_rate: 1017 },
    { request_rate: 42.4, p95_us: 812, error_rate: 0, answer_rate: 42.4 },
    { request_rate: 88.1, p95_us: 48_300, error_rate: 0.031, answer_rate: 88.1 },
    { request_rate: null, p95_us: null, error_rate: null, answer_rate: null },
  ];
  return {
    counts: { endpoints: 4, models: 4, nodes: 2, nodes_online: 2, replicas_ready: 7, replicas_total: 8, attention: 2 },
    totals: totalsOf(live, nodes),
    attention: [
      {
        severity: "error",
        title: "sentiment is degraded",
        detail: "1 of 2 replicas of blue is not ready: exit code 137, out of memory",
        link: "/endpoints/sentiment/deployments",
      },
      { severity: "warning", title: "node-a2 is cordoned", detail: "It keeps what it runs but takes nothing new", link: "/nodes/node-a2" },
    ],
    endpoints: endpoints.map((item, index) => ({
      ...item,
      live: live[index] ?? { request_rate: null, p95_us: null, error_rate: null, answer_rate: null },
    })),
    nodes,
    recent_operations: operations.slice(0, 7).map((item) => ({
      ...item,
      stage: item.stages.find((stage) => stage.status === "running" || stage.status === "failed")?.title ?? "",
    })),
    recent_events: events.slice(0, 7),
  };
}

const SNIPPET = (name: string) => ({
  curl: `curl --cacert /srv/shoal/tls/ca.pem \\\n  -H "Authorization: Bearer $SHOAL_KEY" \\\n  -H "Content-Type: application/json" \\\n  https://127.0.0.1:8443/endpoints/${name}/v2/models/resnet50/infer \\\n  -d '{"inputs":[{"name":"data","datatype":"FP32","shape":[1,3,224,224],"data":[0.0]}]}'`,
  python_http: `import os\n\nimport numpy as np\nimport tritonclient.http as triton\n\nclient = triton.InferenceServerClient("127.0.0.1:8090/endpoints/${name}")\ndata = triton.InferInput("data", [1, 3, 224, 224], "FP32")\ndata.set_data_from_numpy(np.zeros((1, 3, 224, 224), np.float32))\nanswer = client.infer(\n    "resnet50", [data], headers={"Authorization": f"Bearer {os.environ['SHOAL_KEY']}"}\n)\nprint(answer.as_numpy("resnetv24_dense0_fwd").argmax())`,
  python_grpc: `import os\n\nimport numpy as np\nimport tritonclient.grpc as triton\n\nclient = triton.InferenceServerClient("127.0.0.1:8090")\nheaders = {"x-shoal-endpoint": "${name}", "authorization": f"Bearer {os.environ['SHOAL_KEY']}"}`,
});

const MORE_SNIPPETS = { python_requests: "import requests", grpcurl: "grpcurl -d @", javascript: "await fetch()" };

const STREAMS = ["inference-server", "storage-initializer"];
const TEXTS = [
  "I model resnet50 version 1: loading graph, 161 nodes",
  "I onnxruntime session ready, intra_op_num_threads=4",
  "I started HTTP on 127.0.0.1:31000, gRPC on 127.0.0.1:32000, metrics on 127.0.0.1:33000",
  "I batch of 16 executed in 4.39 ms",
  "W request 8f1a waited 12.4 ms in the queue",
  "E infer: unexpected shape for input 'data': expected [-1,3,224,224], got [1,3,224,223]",
];

const NEWEST_LINE = 30_000;

function logs(query: URLSearchParams): MockAnswer {
  const [after, before, tail] = ["after", "before", "tail"].map((name) => Number(query.get(name) ?? 0));
  const size = after ? 2 : Math.min(tail || 200, (before || NEWEST_LINE + 1) - 1);
  const first = after ? after + 1 : (before || NEWEST_LINE + 1) - size;
  return ok({
    lines: Array.from({ length: size }, (_, index) => ({
      id: first + index,
      at: ago(Math.max(0, NEWEST_LINE - first - index)),
      replica_id: (first + index) % 3 === 0 ? "r-blue-1" : "r-blue-0",
      stream: STREAMS[(first + index) % 6 === 5 ? 1 : 0],
      text: TEXTS[(first + index) % TEXTS.length],
    })),
  });
}

const STEPS = [2, 5, 10, 30, 60, 300, 600, 3600, 7200];

function metrics(name: string, query: URLSearchParams): unknown {
  const range = Number(query.get("range") ?? 300);
  if (!query.has("from") && !query.has("step")) return history(name, range);
  const to = Number(query.get("to") ?? Date.now() / 1000);
  const from = Number(query.get("from") ?? to - range);
  if (query.get("by") === "replica") return replicaBuckets(name, from, to, query);
  return buckets(name, from, to, STEPS.find((step) => (to - from) / step <= 600) ?? 7200);
}

/** Refuses a body limit of zero, in the server's words. */
function endpointChange(found: (typeof endpoints)[number], body: Record<string, unknown>): MockAnswer {
  if (body["max_request_bytes"] === 0) {
    const said = "0 is out of range: expected 1 to 2147483647.";
    return {
      status: 400,
      body: {
        title: "Bad argument",
        status: 400,
        code: "BadArgument",
        detail: said,
        field: "max_request_bytes",
        errors: { max_request_bytes: [said] },
      },
    };
  }
  Object.assign(found, body);
  return ok({ ...found });
}

/** As the server has it: what was moved since the caller saw it is not moved again. */
function trafficSet(found: (typeof endpoints)[number], body: Record<string, unknown>, ifMatch: string | null): MockAnswer {
  if (ifMatch !== null && ifMatch !== found.etag) {
    const detail = "It was changed since you read it.";
    return { status: 412, body: { title: "Precondition Failed", status: 412, code: "PreconditionFailed", detail, current: { ...found } } };
  }
  Object.assign(found, { ...body, etag: `W/"${Date.now()}"` });
  return ok({ ...found });
}

const AUTOSCALE_PREVIEW = {
  least: 1,
  most: 4,
  replica_hours: 38.2,
  seconds: 86_400,
  measured_s: 86_400,
  changes: [],
  ignored: [],
};

function dataRoute(method: string, path: string[], query: URLSearchParams): MockAnswer {
  const [name, , deployment, , what, file] = path;
  if (what !== "baseline") return ok(statisticsOf(name ?? "", deployment ?? "", Number(query.get("hours") ?? 24)));
  if (method === "PUT") return ok(baselineSet(file ? "a file (0a1b2c3d4e5f)" : "the last hours"));
  baselineGone();
  return ok(null, 204);
}

function endpointRoute(
  method: string,
  path: string[],
  query: URLSearchParams,
  body: Record<string, unknown>,
  ifMatch: string | null,
): MockAnswer {
  const [name, section, item, leaf] = path;
  if (!name) return list(state.empty ? [] : endpoints);
  const found = endpoints.find((one) => one.name === name);
  if (!found) return missing(`Endpoint ${name}`);
  if (!section) return method === "DELETE" ? ok(operations[0], 202) : method === "PATCH" ? endpointChange(found, body) : ok(found);
  if (section === "rollouts" && method === "POST" && !leaf) return ok(rolloutBegun(name, body), 201);
  if (section === "rollouts" && leaf === "differences") return ok({ items: DIFFERENCES });
  if (section === "rollouts") return leaf ? ok(rolloutChanged(leaf)) : list(rolloutsOf(name));
  if (section === "objectives" && leaf) return ok(objectivePast(item ?? ""));
  if (section === "objectives" && method === "PUT") return ok(objectiveSet(name, item ?? "", body), 201);
  if (section === "objectives" && method === "DELETE") {
    objectiveGone(item ?? "");
    return ok(null, 204);
  }
  if (section === "objectives") return ok({ items: objectivesOf(name) });
  if (section === "deployments" && item && leaf === "captured-requests") return missing("This captured request");
  if (section === "deployments" && item && leaf === "captured") return list(capturedOf(name));
  if (section === "deployments" && item && leaf === "data") return dataRoute(method, path, query);
  if (section === "deployments" && item && leaf === "sweeps")
    return method === "GET" ? list(sweepsOf(name)) : ok(sweepBegun(name, body), 202);
  if (section === "deployments" && item && leaf === "tunings")
    return method === "GET" ? list(tuningsOf(name)) : tuningStart(tuningBegun(name, item, body));
  if (section === "test-cases") return ok(casesAsked(name, body));
  if (section === "traffic") return trafficSet(found, body, ifMatch);
  if (section === "keys")
    return ok({ primaryKey: "shk_8sQ1mH0bPzX4t7Jc2LrVwYe9NaKdUfGi", secondaryKey: "shk_Zt5Xn8RbWq3Lk6Mv1PcHsJy7DgFaEoUi" });
  if (section === "metrics") return ok(metrics(name, query));
  if (section === "requests" && item) {
    const found = storyOf(name, decodeURIComponent(item));
    return found.length > 0 ? ok({ id: item, items: found }) : missing("This request");
  }
  if (section === "requests") return list(requestsOf(name, query));
  if (section === "bottlenecks") return ok(bottlenecksOf(name));
  if (section === "experiment") return ok(experimentOf(name));
  if (section === "snippets") return ok({ ...SNIPPET(name), ...MORE_SNIPPETS });
  if (section === "deployments" && leaf === "pipeline") return ok(pipelineOf(name, item ?? ""));
  if (section === "deployments" && leaf === "room") return ok(roomOf(name));
  if (section === "deployments" && leaf === "logs") return logs(query);
  if (section === "deployments" && leaf === "autoscale") return ok(AUTOSCALE_PREVIEW);
  if (section === "deployments" && item)
    return method === "GET" ? ok(found.deployments.find((one) => one.name === item)) : ok(operations[0], 202);
  return list(found.deployments);
}

const tuningStart = (begun: ReturnType<typeof tuningBegun>): MockAnswer =>
  "code" in begun ? { status: begun.status, body: { title: "Conflict", ...begun } } : ok(begun, 202);

/** `?many=5000` in the address: a long list, in pages as the server makes them. */
function manyModels(query: URLSearchParams): MockAnswer {
  const [start, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit") ?? 50)];
  const end = Math.min(state.many, start + limit);
  const items = Array.from({ length: end - start }, (_, index) => ({
    ...models[0],
    name: `model-${String(start + index).padStart(5, "0")}`,
  }));
  return ok({ items, next_cursor: end < state.many ? String(end) : null, total: state.many });
}

function repoModelConfig(model: RepoModel | undefined, query: URLSearchParams): MockAnswer {
  if (!model) return missing("This model of the repository");
  return ok({
    model: model.name,
    text: model.config_text,
    source: "file",
    revision: Number(query.get("revision") ?? 0),
    effective: model.config_effective,
    problems: [],
    config: model.platform === "ensemble" ? PIPELINE_CONFIG : { name: model.name },
  });
}

function environmentRoute([name, section, number, verb]: string[], query: URLSearchParams): MockAnswer {
  if (!name) return list(state.empty ? [] : named(query.get("archived")));
  const found = environments.filter((one) => one.name === name);
  if (found.length === 0) return missing(`Environment ${name}`);
  if (section === "versions" && !number) return list(found);
  const asked = verb ?? section;
  const meant = number ? found.filter((one) => String(one.version) === number) : found;
  for (const one of meant) one.archived = asked === "archive";
  return ok({ ...meant[0] });
}

function modelRoute(method: string, path: string[], query: URLSearchParams): MockAnswer {
  const [name, section, number] = path;
  if (!name) return state.many > 0 ? manyModels(query) : list(state.empty ? [] : models);
  const found = models.find((one) => one.name === name);
  const known = versions[name];
  if (!found || !known) return missing(`Model ${name}`);
  if (section === "versions" && number) {
    const wanted = known.find((one) => number === "latest" || String(one.version) === number);
    if (!wanted) return missing(`Version ${number}`);
    if (path[3] === "usage")
      return list(
        wanted.used_by.map((endpoint) => ({ endpoint, deployment: "blue", current: true, config_revision: null, revisions: [1] })),
      );
    if (path[3] === "signatures") {
      return ok({
        model: name,
        version: wanted.version,
        config_revision: Number(query.get("config_revision") ?? 0),
        digest: wanted.digest,
        statement: "",
        required: false,
        signed: false,
        items: [],
      });
    }
    if (path[3] === "repo-models")
      return repoModelConfig(
        wanted.repo_models.find((one) => one.name === path[4]),
        query,
      );
    return ok(wanted);
  }
  if (section === "versions") return list(known);
  if (section === "archive" || section === "restore") found.archived = section === "archive";
  if (method === "DELETE") {
    return {
      status: 409,
      body: {
        title: "The model is in use",
        detail: "Endpoint resnet50-prod serves it.",
        status: 409,
        code: "InUse",
        hints: ["Delete its deployments first."],
      },
    };
  }
  return ok({ ...found });
}

function projectsRoute(method: string, path: string[], body: Record<string, unknown>): MockAnswer {
  const [name, section, username] = path;
  if (section === "members" && !permissions().includes("administer")) return refused("administer");
  if (section === "members" && !username) return list(members);
  if (section === "members") return method === "DELETE" ? ok(null, 204) : ok({ username, role: body["role"], created_at: ago(0) });
  if (!name && method === "GET") return list(role() === "member" ? projects.slice(1) : projects);
  if (method !== "GET" && !permissions().includes("administer")) return refused("administer");
  if (!name) return ok({ ...projects[0], ...body, used_replicas: 0, used_gpus: 0, used_bytes: 0 }, 201);
  const found = projects.find((one) => one.name === name);
  return found ? ok({ ...found, ...body, ...(section ? { archived: section === "archive" } : {}) }) : missing(name);
}

function peopleRoute(method: string, path: string[], query: URLSearchParams, body: Record<string, unknown>): MockAnswer {
  if (!permissions().includes("administer")) return refused("administer");
  const [name, section] = path;
  if (section === "password") return ok({ password: "kX7-vPq2mR9tWz4L" });
  if (!name && method === "POST") {
    const made = {
      username: String(body["username"]),
      role: body["role"] as (typeof people)[number]["role"],
      active: true,
      sign_in: "password" as const,
      created_at: ago(0),
      last_login: null,
      last_seen_at: null,
      token_count: 0,
      second_factor: false,
    };
    people.push(made);
    return ok({ ...made, password: "kX7-vPq2mR9tWz4L" }, 201);
  }
  if (!name) return list(people.filter((one) => one.username.includes(query.get("q") ?? "")));
  const found = people.find((one) => one.username === name);
  if (!found) return missing(`User ${name}`);
  Object.assign(found, body);
  return ok({ ...found });
}

function operationFits(one: (typeof operations)[number], query: URLSearchParams): boolean {
  const [since, until] = [query.get("since"), query.get("until")];
  const is = (name: string, value: string) => !query.get(name) || query.get(name) === value;
  return (
    is("state", one.state) &&
    is("kind", one.kind) &&
    is("actor", one.created_by) &&
    `${one.endpoint} ${one.deployment}`.includes(query.get("q") ?? "") &&
    (!since || one.created_at >= since) &&
    (!until || one.created_at < until)
  );
}

export function answer({ method, path, query, body, ifMatch }: MockRequest): MockAnswer {
  const [head, ...rest] = path;
  const [first, second] = rest;
  switch (head) {
    case "setup":
      return method === "POST" ? session("POST", body) : ok({ open: state.empty });
    case "session":
      return first === "second-factor" ? secondFactor(method, second, body) : session(method, body);
    case "overview":
      return ok(first === "counts" ? overview().counts : overview());
    case "endpoints":
      return endpointRoute(method, rest, query, body, ifMatch);
    case "models":
      return modelRoute(method, rest, query);
    case "environments":
      return environmentRoute(rest, query);
    case "drains": {
      const names = (body["nodes"] ?? []) as string[];
      const drain = { started_at: ago(0), deadline_at: ago(-600), done: false };
      if (!body["dry_run"]) nodes.filter((one) => names.includes(one.name)).forEach((one) => Object.assign(one, { cordoned: true, drain }));
      return ok({ dry_run: Boolean(body["dry_run"]), moves: drainMoves(names) });
    }
    case "nodes": {
      if (!first) return ok(nodePage(query, state.many));
      const node = nodes.find((one) => one.name === first);
      if (second === "cache") return list(cachedBlobs().filter((one) => one.sha256.startsWith((query.get("q") ?? "").toLowerCase())));
      if (!node) return missing(`Node ${first}`);
      if (second === "drain") {
        if (!body["dry_run"]) Object.assign(node, { cordoned: true, drain: { started_at: ago(0), deadline_at: ago(-600), done: false } });
        return ok({ dry_run: Boolean(body["dry_run"]), moves: drainMoves([first]) });
      }
      if (method === "PATCH") node.labels = body["labels"] as Record<string, string>;
      if (second === "uncordon") node.drain = null;
      if (second) node.cordoned = second === "cordon";
      return ok({ ...node });
    }
    case "try-loads": {
      const trial = first ? trialNow(first, second) : trialBegun(body);
      if (trial === null) return missing("This trial");
      return "code" in trial ? { status: trial.status, body: { title: "Conflict", hints: [], ...trial } } : ok(trial, first ? 200 : 202);
    }
    case "sweeps": {
      const sweep = sweepAnswer(first ?? "", second);
      return sweep ? ok(sweep) : missing(`Sweep ${first ?? ""}`);
    }
    case "tunings": {
      const tuning = tuningAnswer(first ?? "", second);
      return tuning ? ok(tuning) : missing(`Tuning ${first ?? ""}`);
    }
    case "capacity":
      return capacityAnswer(first, query, state.many, state.empty);
    case "prices":
      return pricesAnswer(method, body);
    case "operations": {
      const endpoint = query.get("endpoint");
      if (!first)
        return list(operations.filter((one) => operationFits(one, query)).filter((one) => !endpoint || one.endpoint === endpoint));
      return ok(operations.find((one) => one.id === first) ?? operations[0]);
    }
    case "events":
      return first === "verify"
        ? ok({ ok: true, sealed: 899, unsealed: 0, head: "4be1c0ffee".repeat(6), broken: null })
        : ok(eventPage(query));
    case "alerts":
    case "alert-rules":
    case "silences":
    case "channels":
      return alertAnswer(method, path, query, body, state.empty) ?? missing(String(head));
    case "metrics":
      if (query.has("step")) return ok(compared(query));
      return ok(query.get("by") === "node" ? quarter(query.get("ids") ?? "", query.get("metrics") ?? "") : hour(query.get("ids") ?? ""));
    case "ca":
      return ok({ certificates: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", items: [] });
    case "system":
      return ok(system());
    case "tokens":
      return method === "POST"
        ? ok(
            {
              id: 9,
              name: body["name"],
              prefix: "shoal_9f2cK1",
              scopes: body["scopes"] ?? [],
              token: "shoal_9f2cK1vT8mQzYb4XrLw7HpNs3Dg6Jd",
              created_at: ago(0),
              expires_at: body["expires_at"],
              last_used_at: null,
            },
            201,
          )
        : list(tokens);
    case "sessions":
      return list(sessions);
    case "service-accounts":
      if (!permissions().includes("administer")) return refused("administer");
      return method === "POST"
        ? ok({ ...serviceAccounts[0], ...body, token: `shoal_${"m".repeat(43)}` }, 201)
        : list(serviceAccounts.filter((one) => !first || one.name === first));
    case "projects":
      return projectsRoute(method, rest, body);
    case "users":
      return peopleRoute(method, rest, query, body);
    case "storage":
      return first ? ok({ removed: 4 }) : ok({ blobs: 38, bytes: 3_904_112_640, unused_blobs: 6, unused_bytes: 412_042_240 });
    case "instance-types":
      return first
        ? ok(instanceTypes.find((one) => one.name === first))
        : method === "POST"
          ? ok({ ...instanceTypes[0], ...body }, 201)
          : list(instanceTypes);
    case "test-cases":
      return ok(caseRoute(method, path[1], query.get("model") ?? "", body));
    case "drafts": {
      if (!first && method === "GET") return list(draftList());
      const draft = draftChange(method, first, body);
      return draft ? ok(draft, method === "POST" ? 201 : 200) : missing("This draft");
    }
    case "placement":
      return ok(placementPreview(body));
    case "config":
      return ok({ ok: true, problems: [], config: {}, effective: String(body["text"] ?? "") });
    case "join-tokens":
      return first ? ok(joinTokenState()) : ok(joinToken, 201);
    default:
      return missing(`/${path.join("/")}`);
  }
}

/** Endpoints, and all below them. */
import { endpointPage } from "../endpoint-page";
import { noted, watchOf } from "../traffic-watch";
import { ago, endpoints, operations } from "../db";
import { buckets, history, replicaBuckets } from "../live";
import { bottlenecksOf } from "../bottlenecks";
import { roomOf } from "../capacity";
import { answersOf, experimentOf } from "../experiments";
import { requestsOf, storyOf } from "../requests";
import { sweepBegun, sweepsOf } from "../sweeps";
import { tuningBegun, tuningsOf } from "../tunings";
import { pipelineOf } from "../pipelines";
import { baselineGone, baselineSet, baselineWindow, capturedOf, statisticsOf } from "../capture";
import { objectiveGone, objectivePast, objectiveSet, objectivesOf } from "../alerts";
import { casesAsked } from "../cases";
import { DIFFERENCES, rolloutBegun, rolloutChanged, rolloutsOf } from "../rollouts";
import { type MockAnswer, state, ok, list, missing } from "../answers";

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

function logLine(id: number) {
  const text = TEXTS[id % TEXTS.length] ?? "";
  return {
    id,
    at: ago(Math.max(0, NEWEST_LINE - id)),
    replica_id: id % 3 === 0 ? "r-blue-1" : "r-blue-0",
    stream: STREAMS[id % 6 === 5 ? 1 : 0] ?? "",
    text,
    level: text.startsWith("E ") ? "error" : text.startsWith("W ") ? "warn" : "",
  };
}

function logFits(line: ReturnType<typeof logLine>, query: URLSearchParams): boolean {
  const [q, level, stream, replica] = ["q", "level", "stream", "replica"].map((name) => query.get(name) ?? "");
  const bad = !level || line.level === "error" || line.level === level;
  return (
    bad &&
    (!stream || line.stream === stream) &&
    (!replica || line.replica_id === replica) &&
    line.text.toLowerCase().includes((q ?? "").toLowerCase())
  );
}

/** All that is kept is searched; two lines come with each look. */
function logs(query: URLSearchParams): MockAnswer {
  const [after, before, tail] = ["after", "before", "tail"].map((name) => Number(query.get(name) ?? 0));
  const last = after ? after + 2 : (before || NEWEST_LINE + 1) - 1;
  const lines: ReturnType<typeof logLine>[] = [];
  for (let id = last; id > (after ?? 0) && lines.length < (tail || 200); id -= 1) {
    const line = logLine(id);
    if (logFits(line, query)) lines.unshift(line);
  }
  return ok({ lines, last_id: last });
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

type Tagged = { etag: string };
let changes = 1;

/** As the server has it: what others have changed since the caller saw it is not written over. */
function overtaken(found: Tagged, ifMatch: string | null): MockAnswer | null {
  if (ifMatch === null || ifMatch === found.etag) return null;
  const changed = { by: "omar", at: ago(10), what: "omar changed it" };
  const detail = `It was changed since you read it. ${changed.what}.`;
  return {
    status: 412,
    body: {
      title: "Precondition Failed",
      status: 412,
      code: "PreconditionFailed",
      detail,
      etag: found.etag,
      current: { ...found },
      changed,
    },
  };
}

function changed<T extends Tagged>(found: T, body: Record<string, unknown>): T {
  changes += 1;
  return Object.assign(found, body, { etag: `W/"${changes}"` });
}

/** Refuses a body limit of zero, in the server's words. */
function endpointChange(found: (typeof endpoints)[number], body: Record<string, unknown>, ifMatch: string | null): MockAnswer {
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
  const refused = overtaken(found, ifMatch);
  if (refused) return refused;
  const traffic = body["traffic"] as Record<string, number> | undefined;
  if (traffic) found.traffic_change = noted(found, traffic);
  return ok({ ...changed(found, body) });
}

for (const one of endpoints) one.objectives = objectivesOf(one.name);

/** The tag of the endpoint stands for them, too. */
function objectivesRoute(
  found: (typeof endpoints)[number],
  method: string,
  objective: string,
  body: Record<string, unknown>,
  ifMatch: string | null,
): MockAnswer {
  if (method === "GET") return ok({ items: objectivesOf(found.name) });
  const refused = overtaken(found, ifMatch);
  if (refused) return refused;
  const set = method === "PUT" ? objectiveSet(found.name, objective, body) : null;
  if (set === null) objectiveGone(objective);
  changed(found, { objectives: objectivesOf(found.name) });
  return set === null ? ok(null, 204) : ok(set, 201);
}

function deploymentChange(
  found: (typeof endpoints)[number],
  name: string,
  body: Record<string, unknown>,
  ifMatch: string | null,
): MockAnswer {
  const one = found.deployments.find((deployment) => deployment.name === name);
  if (!one) return missing(`Deployment ${name}`);
  const refused = overtaken(one, ifMatch);
  if (refused) return refused;
  const { version, ...rest } = body;
  changed(one, version === undefined ? rest : { ...rest, version: Number(version) });
  return ok(operations[0], 202);
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

function dataRoute(method: string, path: string[], query: URLSearchParams, body: Record<string, unknown>): MockAnswer {
  const [name, , deployment, , what, file] = path;
  const asked = query.get("hours");
  if (what !== "baseline") return ok(statisticsOf(name ?? "", deployment ?? "", asked === null ? undefined : Number(asked)));
  const window = Number(body["window_hours"] ?? query.get("window_hours") ?? 24);
  if (method === "PUT") return ok(baselineSet(file ? "a file (0a1b2c3d4e5f)" : "the last hours", window));
  if (method === "PATCH") return ok(baselineWindow(window));
  baselineGone();
  return ok(null, 204);
}

export function endpointRoute(
  method: string,
  path: string[],
  query: URLSearchParams,
  body: Record<string, unknown>,
  ifMatch: string | null,
): MockAnswer {
  const [name, section, item, leaf] = path;
  if (!name) return state.empty ? list([]) : ok(endpointPage(query, state.many));
  const found = endpoints.find((one) => one.name === name);
  if (!found) return missing(`Endpoint ${name}`);
  if (!section) return method === "DELETE" ? ok(operations[0], 202) : method === "PATCH" ? endpointChange(found, body, ifMatch) : ok(found);
  if (section === "rollouts" && method === "POST" && !leaf) return overtaken(found, ifMatch) ?? ok(rolloutBegun(name, body), 201);
  if (section === "rollouts" && leaf === "differences") return ok({ items: DIFFERENCES });
  if (section === "rollouts") return leaf ? ok(rolloutChanged(leaf)) : list(rolloutsOf(name));
  if (section === "objectives" && leaf) return ok(objectivePast(item ?? ""));
  if (section === "objectives") return objectivesRoute(found, method, item ?? "", body, ifMatch);
  if (section === "deployments" && item && leaf === "captured-requests") return missing("This captured request");
  if (section === "deployments" && item && leaf === "captured") return list(capturedOf(name));
  if (section === "deployments" && item && leaf === "data") return dataRoute(method, path, query, body);
  if (section === "deployments" && item && leaf === "sweeps")
    return method === "GET" ? list(sweepsOf(name)) : ok(sweepBegun(name, body), 202);
  if (section === "deployments" && item && leaf === "tunings")
    return method === "GET" ? list(tuningsOf(name)) : tuningStart(tuningBegun(name, item, body));
  if (section === "test-cases") return ok(casesAsked(name, body));
  if (section === "traffic" && item === "watch") return ok(watchOf(found));
  if (section === "traffic" || section === "mirror") return endpointChange(found, body, ifMatch);
  if (section === "keys")
    return ok({ primaryKey: "shk_8sQ1mH0bPzX4t7Jc2LrVwYe9NaKdUfGi", secondaryKey: "shk_Zt5Xn8RbWq3Lk6Mv1PcHsJy7DgFaEoUi" });
  if (section === "metrics") return ok(metrics(name, query));
  if (section === "requests" && item) {
    const found = storyOf(name, decodeURIComponent(item));
    return found.length > 0 ? ok({ id: item, items: found }) : missing("This request");
  }
  if (section === "requests") return list(requestsOf(name, query));
  if (section === "bottlenecks") return ok(bottlenecksOf(name));
  if (section === "experiment" && item === "answers") return ok(answersOf(name, body));
  if (section === "experiment") return ok(experimentOf(name));
  if (section === "snippets") return ok({ ...SNIPPET(name), ...MORE_SNIPPETS });
  if (section === "deployments" && leaf === "pipeline") return ok(pipelineOf(name, item ?? ""));
  if (section === "deployments" && leaf === "room") return ok(roomOf(name));
  if (section === "deployments" && leaf === "logs") return logs(query);
  if (section === "deployments" && leaf === "autoscale") return ok(AUTOSCALE_PREVIEW);
  if (section === "deployments" && item && !leaf && method === "PATCH") return deploymentChange(found, item, body, ifMatch);
  if (section === "deployments" && item)
    return method === "GET" ? ok(found.deployments.find((one) => one.name === item)) : ok(operations[0], 202);
  return list(found.deployments);
}

const tuningStart = (begun: ReturnType<typeof tuningBegun>): MockAnswer =>
  "code" in begun ? { status: begun.status, body: { title: "Conflict", ...begun } } : ok(begun, 202);

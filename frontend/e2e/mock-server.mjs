/** Routes every call of a page to the fixtures; the test changes `state` to tell the story. */
import * as say from "./fixtures.mjs";

export function newState() {
  return {
    upload: null,
    stored: 0,
    dropChunks: 0,
    operation: say.operation(),
    created: [],
    deployed: null,
    calls: [],
    infer: "answer",
  };
}

const list = (items) => ({ items, next_cursor: null });
const missing = (what) => [
  404,
  { type: "about:blank", title: `${what} was not found`, status: 404, detail: "", code: "NotFound", hints: [] },
];

function answer(state, method, path, body, request) {
  if (path === "/session")
    return [
      200,
      { authenticated: true, user: { username: "admin", role: "admin" }, csrf_token: "t", version: "0.1.0" },
    ];
  if (path === "/uploads" && method === "POST") {
    const { filename, size } = JSON.parse(body);
    state.upload = say.upload({
      filename,
      size,
      offset: 0,
      state: "uploading",
      inspection: null,
      steps: say
        .upload()
        .steps.map((step) => ({ ...step, status: "pending", started_at: null, ended_at: null, detail: null })),
    });
    state.stored = 0;
    return [201, { ...state.upload, chunk_size: state.chunkSize ?? 8_388_608 }];
  }
  if (path === "/uploads/u1/complete") {
    state.completed = JSON.parse(body).sha256;
    state.upload = say.upload({ filename: state.upload.filename, size: state.upload.size, ...state.after });
    return [202, state.upload];
  }
  if (path === "/uploads/u1" && method === "PATCH") {
    const offset = Number(request.headers()["upload-offset"]);
    if (offset !== state.stored)
      return [409, { code: "UploadOffsetConflict", offset: state.stored, title: "The offset differs", status: 409 }];
    state.stored += request.postDataBuffer()?.length ?? 0;
    state.upload.offset = state.stored;
    return [200, state.upload];
  }
  if (path === "/uploads/u1")
    return method === "DELETE" ? [204, null] : state.upload ? [200, state.upload] : missing("This upload");
  if (path === "/config/validate") return [200, say.validate(JSON.parse(body).text)];
  if (path === "/models" && method === "POST") {
    state.created.push(JSON.parse(body));
    return [201, { model: JSON.parse(body).name, version: 1, config_revisions: [] }];
  }
  if (path === "/deploy") {
    state.deployed = JSON.parse(body);
    return [202, state.operation];
  }
  if (path === "/models") return [200, list([])];
  if (path.startsWith("/models/")) return missing("This model");
  if (path === "/endpoints") return [200, list(state.noEndpoint ? [] : [say.endpoint])];
  if (path === "/endpoints/digits") return [200, state.endpoint ?? say.endpoint];
  if (path.endsWith("/logs")) return [200, say.logs()];
  if (path.endsWith("/snippets")) {
    return [
      200,
      {
        curl: 'curl --cacert /srv/shoal/tls/ca.pem \\\n  -H "Authorization: Bearer $SHOAL_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d @request.json \\\n  https://127.0.0.1:8443/endpoints/resnet50/v2/models/resnet50/infer',
        python_http: "import tritonclient.http",
        python_grpc: "import tritonclient.grpc",
      },
    ];
  }
  if (path.endsWith("/keys/list")) return [200, { primaryKey: "k".repeat(43), secondaryKey: "s".repeat(43) }];
  if (/^\/endpoints\/\w+\/deployments\/blue$/.test(path)) return [200, say.deployment];
  if (path.startsWith("/operations/op1")) return [200, state.operation];
  if (path === "/operations" || path === "/events") return [200, list([])];
  if (path === "/nodes")
    return [
      200,
      list([
        {
          id: "n1",
          name: "node-a",
          state: "Online",
          cordoned: false,
          info: {},
          last_seen_at: say.at(0),
          age_s: 1,
          replicas: [],
        },
      ]),
    ];
  if (path === "/overview")
    return [
      200,
      {
        counts: { endpoints: 1, models: 1, nodes: 1, nodes_online: 1, replicas_ready: 1, replicas_total: 1 },
        attention: [],
        endpoints: [],
        nodes: [],
        recent_operations: [],
        recent_events: [],
      },
    ];
  return missing(path);
}

export async function install(page, state) {
  await page.route("**/api/v1/**", async (route) => {
    const request = route.request();
    const path = decodeURIComponent(new URL(request.url()).pathname.replace("/api/v1", ""));
    if (request.method() === "PATCH" && state.dropChunks > 0) {
      state.dropChunks -= 1;
      return route.abort("connectionreset");
    }
    state.calls.push(`${request.method()} ${path}`);
    if (request.method() === "PATCH" && state.hold) await state.hold;
    const [status, body] = answer(state, request.method(), path, request.postData(), request);
    const type = status >= 400 ? "application/problem+json" : "application/json";
    return route.fulfill({
      status,
      headers: { "Content-Type": type },
      body: body === null ? "" : JSON.stringify(body),
    });
  });
  await page.routeWebSocket("**/ws/v1", (socket) => {
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      if (message.op === "sub" && message.topic === "operation:op1")
        socket.send(JSON.stringify({ type: "state", topic: message.topic, data: state.operation }));
    });
  });
  await page.routeWebSocket("**/ws/v1/console/**", (socket) => {
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      if (message.op === "metadata") socket.send(JSON.stringify({ type: "metadata", models: say.consoleModels }));
      if (message.op !== "infer") return;
      state.inferred = message;
      socket.send(JSON.stringify({ type: "accepted", id: message.id }));
      if (state.infer === "drop") return void socket.close({ code: 1012 });
      if (state.infer === "error") {
        socket.send(
          JSON.stringify({
            type: "error",
            id: message.id,
            code: "InvalidArgument",
            message: "scale_0.tmp_1: 1 × 3 sent, 1 × 4 expected (axis 2)",
            triton:
              "[request id: 1] unexpected shape for input 'scale_0.tmp_1' for model 'digits'. Expected [-1,4], got [1,3].",
            status: 400,
          }),
        );
      } else socket.send(JSON.stringify(say.inferResult(message.id)));
      return undefined;
    });
  });
}

/** Answers of `/api/v1` from the made-up installation. */
import { ago, nodes, operations } from "./db";
import { cachedBlobs, drainMoves, eventPage, joinToken, joinTokenState, nodePage, system } from "./infrastructure";
import { compared, hour, quarter } from "./live";
import { instanceTypes, permissions, serviceAccounts, sessions, tokens } from "./people";
import { capacityAnswer, pricesAnswer } from "./capacity";
import { sweepAnswer } from "./sweeps";
import { tuningAnswer } from "./tunings";
import { alertAnswer } from "./alerts";
import { caseRoute } from "./cases";
import { trialBegun, trialNow } from "./trials";
import { draftChange, draftList, placementPreview } from "./wizard";
import { session, secondFactor, projectsRoute, peopleRoute } from "./routes/accounts";
import { overview } from "./routes/overview";
import { endpointRoute } from "./routes/endpoints";
import { modelRoute, environmentRoute } from "./routes/models";
import { type MockRequest, type MockAnswer, state, ok, list, missing, refused } from "./answers";

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
      return alertAnswer(method, path, query, body, state.empty, ifMatch) ?? missing(String(head));
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
      return ok(placementPreview(body, state.many));
    case "config":
      return ok({ ok: true, problems: [], config: {}, effective: String(body["text"] ?? "") });
    case "join-tokens":
      return first ? ok(joinTokenState()) : ok(joinToken, 201);
    default:
      return missing(`/${path.join("/")}`);
  }
}

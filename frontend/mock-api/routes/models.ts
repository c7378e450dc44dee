/** Models, their versions, and environments. */
import type { RepoModel } from "../../src/api/types";
import { models, versions } from "../db";
import { environments, named } from "../environments";
import { PIPELINE_CONFIG } from "../pipelines";
import { type MockAnswer, state, ok, list, missing } from "../answers";

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

export function environmentRoute([name, section, number, verb]: string[], query: URLSearchParams): MockAnswer {
  if (!name) return list(state.empty ? [] : named(query.get("archived")));
  const found = environments.filter((one) => one.name === name);
  if (found.length === 0) return missing(`Environment ${name}`);
  if (section === "versions" && !number) return list(found);
  const asked = verb ?? section;
  const meant = number ? found.filter((one) => String(one.version) === number) : found;
  for (const one of meant) one.archived = asked === "archive";
  return ok({ ...meant[0] });
}

export function modelRoute(method: string, path: string[], query: URLSearchParams): MockAnswer {
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

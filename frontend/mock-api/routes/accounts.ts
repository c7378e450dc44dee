/** Signing in, and who may do what. */
import { ago } from "../db";
import { members, people, permissions, projects, role } from "../people";
import { type MockAnswer, state, ok, list, missing, refused, wrong } from "../answers";

const user = () => ({
  username: "maria",
  role: role(),
  permissions: permissions(),
  projects:
    role() === "member" ? [{ name: "vision", role: "deployer" as const, permissions: ["read", "invoke", "keys", "deploy"] as const }] : [],
  sign_in: "password" as const,
  second_factor: state.secondFactor ? ("on" as const) : ("off" as const),
});

export function session(method: string, body: Record<string, unknown>): MockAnswer {
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
export function secondFactor(method: string, step: string | undefined, body: Record<string, unknown>): MockAnswer {
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

export function projectsRoute(method: string, path: string[], body: Record<string, unknown>): MockAnswer {
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

export function peopleRoute(method: string, path: string[], query: URLSearchParams, body: Record<string, unknown>): MockAnswer {
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

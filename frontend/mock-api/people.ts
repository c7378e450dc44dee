/** Who uses the made-up installation. `localStorage["mock.role"]` makes one of them of oneself. */
import type { ApiToken, BrowserSession, InstanceType, Member, Permission, Person, Project, Role, ServiceAccount } from "../src/api/types";
import { ago } from "./db";

const STAIR: [Role, Permission[]][] = [
  ["member", ["account"]],
  ["viewer", ["read"]],
  ["invoker", ["invoke"]],
  ["deployer", ["keys", "deploy"]],
  ["operator", ["operate"]],
  ["admin", ["code:upload", "administer"]],
];

export const role = (): Role => STAIR.find(([name]) => name === localStorage.getItem("mock.role"))?.[0] ?? "admin";

export function permissions(): Permission[] {
  const top = STAIR.findIndex(([name]) => name === role());
  return STAIR.slice(0, top + 1).flatMap(([, more]) => more);
}

function person(username: string, as: Role, seen: number | null, over: Partial<Person> = {}): Person {
  return {
    username,
    role: as,
    active: true,
    sign_in: "password",
    created_at: ago(9_000_000),
    last_login: seen === null ? null : ago(seen + 4_000),
    last_seen_at: seen === null ? null : ago(seen),
    token_count: 0,
    second_factor: false,
    ...over,
  };
}

export const projects: Project[] = [
  {
    name: "default",
    display_name: "",
    archived: false,
    max_replicas: null,
    max_gpus: null,
    max_bytes: null,
    used_replicas: 9,
    used_gpus: 4,
    used_bytes: 3_904_112_640,
    created_by: "system",
    created_at: ago(9_000_000),
  },
  {
    name: "vision",
    display_name: "Computer vision",
    archived: false,
    max_replicas: 20,
    max_gpus: 4,
    max_bytes: 2 ** 40,
    used_replicas: 6,
    used_gpus: 4,
    used_bytes: 2 ** 37,
    created_by: "maria",
    created_at: ago(800_000),
  },
];
export const members: Member[] = [{ username: "lena", role: "deployer", created_at: ago(700_000) }];

export const people: Person[] = [
  person("maria", role(), 12, { token_count: 2 }),
  person("ci", "deployer", null, { token_count: 1 }),
  person("jonas", "operator", 5_400),
  person("lena", "deployer", 86_400 * 3, { token_count: 1 }),
  person("pavel", "viewer", 86_400 * 40, { active: false }),
];

export const serviceAccounts: ServiceAccount[] = [
  {
    name: "pipeline",
    role: "deployer",
    created_at: ago(5_000_000),
    tokens: [
      { prefix: "shoal_r4Tq9s", created_at: ago(40_000), expires_at: ago(-86_400 * 89), last_used_at: ago(40) },
      { prefix: "shoal_b81kZx", created_at: ago(5_000_000), expires_at: ago(-40_000), last_used_at: ago(39_000) },
    ],
  },
];

export const tokens: ApiToken[] = [
  {
    id: 1,
    name: "ci",
    prefix: "shoal_1a2bQe",
    scopes: ["deploy", "read"],
    created_at: ago(400_000),
    expires_at: ago(-86_400 * 3),
    last_used_at: ago(500),
  },
  { id: 2, name: "this machine", prefix: "shoal_x7Lm2p", scopes: [], created_at: ago(900_000), expires_at: null, last_used_at: ago(30) },
  {
    id: 3,
    name: "load test",
    prefix: "shoal_Pq81zz",
    scopes: ["invoke", "read"],
    created_at: ago(9_000_000),
    expires_at: ago(86_400),
    last_used_at: null,
  },
];

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0";
const PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1";
export const sessions: BrowserSession[] = [
  { id: 1, address: "10.0.4.2", agent: FIREFOX, created_at: ago(4_000), last_seen_at: ago(12), current: true },
  { id: 2, address: "10.0.9.41", agent: PHONE, created_at: ago(190_000), last_seen_at: ago(90_000), current: false },
];

function type(name: string, over: Partial<InstanceType>): InstanceType {
  return {
    name,
    description: "",
    aliases: [],
    gpu_count: 0,
    gpu_policy: "preferred",
    gpu_model: "",
    gpu_memory_bytes: 0,
    cpu_count: 0,
    memory_bytes: 0,
    node_labels: {},
    used_by: 0,
    nodes: ["node-a1", "node-a2"],
    created_at: ago(900_000),
    updated_at: ago(900_000),
    ...over,
  };
}

export const instanceTypes: InstanceType[] = [
  type("cpu-small", {
    description: "Processors only",
    cpu_count: 4,
    memory_bytes: 14 * 2 ** 30,
    aliases: ["Standard_DS3_v2", "Standard_F4s_v2", "Standard_E4s_v3"],
    used_by: 3,
  }),
  type("gpu-a10", {
    gpu_count: 1,
    gpu_model: "A10",
    gpu_policy: "required",
    gpu_memory_bytes: 22 * 2 ** 30,
    cpu_count: 8,
    used_by: 2,
    nodes: ["node-a1"],
  }),
  type("gpu-h100-pair", { gpu_count: 2, gpu_model: "H100", gpu_policy: "required", gpu_memory_bytes: 78 * 2 ** 30, nodes: [] }),
];

import { describe, expect, it } from "vitest";
import type { JoinToken, NodeItem } from "@/api/types";
import { isReady, preflight } from "./preflight";

const GIB = 2 ** 30;
const token = (node: string | null): JoinToken => ({
  id: 1,
  prefix: "sjoin_",
  created_by: "ada",
  created_at: "",
  expires_at: "",
  used_at: null,
  node,
});
const node = (info: Partial<NodeItem["info"]> = {}, state: NodeItem["state"] = "online"): NodeItem => ({
  id: "n1",
  name: "gpu-a1",
  state,
  cordoned: false,
  conditions: [],
  labels: {},
  drain: null,
  rule: { interval_s: 5, suspect_after_s: 10, offline_after_s: 20 },
  last_seen_at: "",
  certificate_ends_at: "2026-12-23T08:00:00Z",
  age_s: 1,
  replicas: [],
  info: {
    agent_version: "0.1.0",
    wire_version: 1,
    boot_id: "b",
    address: "10.0.0.1",
    cpu_count: 4,
    cpu_utilization: 0,
    memory_total_bytes: 16 * GIB,
    memory_used_bytes: 2 * GIB,
    disk_total_bytes: 100 * GIB,
    disk_free_bytes: 50 * GIB,
    cache_bytes: 0,
    cache_idle_bytes: 0,
    cache_quota_bytes: 0,
    cache_checked_at: 0,
    cache_spoiled: 0,
    download_limit_bytes_per_s: 0,
    disk_pressure: false,
    shm_total_bytes: GIB,
    sandbox: { files: true, calls: true, network: true, memory: false },
    backends: ["onnxruntime"],
    gpus: [
      {
        index: 0,
        uuid: "g",
        name: "T4",
        memory_total_bytes: 1,
        memory_used_bytes: 0,
        utilization: 0,
        temperature_c: null,
        power_w: null,
        power_limit_w: null,
        driver_version: "",
        energy_j: null,
      },
    ],
    labels: {},
    ...info,
  },
});
const states = (checks: ReturnType<typeof preflight>) => Object.fromEntries(checks.map(({ id, state }) => [id, state]));

describe("the checklist of a join", () => {
  it("waits for everything at first", () => {
    const checks = preflight(token(null), null, "0.1.0");
    expect(new Set(checks.map(({ state }) => state))).toEqual(new Set(["waiting"]));
    expect(isReady(checks)).toBe(false);
  });
  it("waits for the report of a node that has joined", () =>
    expect(states(preflight(token("gpu-a1"), node({}, "offline"), "0.1.0"))).toMatchObject({ joined: "done", reports: "waiting" }));
  it("is done when all is well", () => {
    const checks = preflight(token("gpu-a1"), node(), "0.1.0");
    expect(states(checks)).toEqual({
      trust: "done",
      joined: "done",
      reports: "done",
      certificate: "done",
      address: "done",
      clock: "done",
      version: "done",
      backends: "done",
      gpus: "done",
      disk: "done",
      memory: "done",
      shm: "done",
      sandbox: "done",
    });
    expect(isReady(checks)).toBe(true);
  });
  it.each([
    ["version", { agent_version: "0.0.9" }, "warning"],
    ["gpus", { gpus: [] }, "warning"],
    ["backends", { backends: [] }, "failed"],
    ["disk", { disk_free_bytes: GIB }, "warning"],
    ["disk", { disk_pressure: true }, "warning"],
    ["memory", { memory_used_bytes: 15.5 * GIB }, "warning"],
    ["sandbox", { sandbox: {} }, "warning"],
    ["sandbox", { sandbox: { files: true, calls: false, network: true } }, "warning"],
    ["shm", { shm_total_bytes: 64 * 2 ** 20 }, "warning"],
  ] as const)("says what to do about %s", (id, info, state) => {
    const found = preflight(token("gpu-a1"), node(info as Partial<NodeItem["info"]>), "0.1.0").find((check) => check.id === id);
    expect(found?.state).toBe(state);
    expect(found?.fix).toBeTruthy();
  });
  it.each([
    ["clock", "ClockSkew", "warning"],
    ["certificate", "CertificateNotShown", "warning"],
    ["address", "AddressUnreachable", "failed"],
  ] as const)("hands on what the server found odd about the %s", (id, code, state) => {
    const odd = { ...node(), conditions: [{ code, message: "do this" }] };
    expect(preflight(token("gpu-a1"), odd, "0.1.0").find((check) => check.id === id)).toMatchObject({ state, fix: "do this" });
  });
  it("does not ask for shared memory where a node says nothing of it", () =>
    expect(states(preflight(token("gpu-a1"), node({ shm_total_bytes: null }), "0.1.0"))).not.toHaveProperty("shm"));
  it.each([
    [null, "waiting", "It verifies this server"],
    ["gpu-a1", "done", "before it sent that"],
  ] as const)("says how this server is verified: %s", (joined, state, words) => {
    const found = preflight(token(joined), null, "0.1.0").find((check) => check.id === "trust");
    expect(found?.state).toBe(state);
    expect(found?.label).toContain(words);
  });
  it("waits for the certificate", () =>
    expect(states(preflight(token("gpu-a1"), { ...node(), certificate_ends_at: null }, "0.1.0"))).toMatchObject({
      certificate: "waiting",
    }));
  it("is not ready while something failed", () => expect(isReady(preflight(token("gpu-a1"), node({ backends: [] }), "0.1.0"))).toBe(false));
});

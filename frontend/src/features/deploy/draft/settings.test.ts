import { describe, expect, it } from "vitest";
import { ApiProblem } from "@/api/problem";
import {
  DEFAULT_SETTINGS,
  PROBE_DEFAULTS,
  refusedSettings,
  secretBlanks,
  settingsBody,
  settingsFile,
  settingsProblems,
  type RunSettings,
} from "./settings";

const variable = (id: number, name: string, value = "v", secret = false) => ({ id, name, value, secret });
const filled: RunSettings = {
  request_timeout_ms: 5000,
  max_concurrent_requests_per_instance: 4,
  max_queue_wait_ms: 250,
  response_cache_bytes: 65_536,
  retries: false,
  variables: [variable(1, "TZ", "UTC"), variable(2, "TOKEN", "", true)],
  readiness_probe: { ...PROBE_DEFAULTS, period: 1, timeout: null },
  liveness_probe: null,
};

describe("what is sent", () => {
  it("is nothing as long as nothing was changed", () => expect(settingsBody(DEFAULT_SETTINGS, {})).toEqual({}));

  it("has the values of secrets from the page, not from the draft", () =>
    expect(settingsBody(filled, { 2: "t0ken" })).toEqual({
      request_timeout_ms: 5000,
      max_concurrent_requests_per_instance: 4,
      max_queue_wait_ms: 250,
      response_cache_bytes: 65_536,
      retries: false,
      environment: { TZ: "UTC" },
      secret_environment: { TOKEN: "t0ken" },
      readiness_probe: { ...PROBE_DEFAULTS, period: 1, timeout: 2 },
    }));

  it.each([0, undefined])("has no longest wait for %s, as drafts of before have it", (wait) => {
    const { max_queue_wait_ms: _, ...before } = DEFAULT_SETTINGS;
    const settings = wait === undefined ? before : { ...before, max_queue_wait_ms: wait };
    expect(settingsBody(settings, {})).toEqual({});
    expect(settingsProblems(settings, {})).toEqual({});
    expect(settingsFile(settings)["request_settings"]).toBeUndefined();
  });

  it("is shown and written without them", () => {
    expect(settingsBody(filled, secretBlanks(filled)).secret_environment).toEqual({ TOKEN: "<TOKEN>" });
    expect(settingsFile(filled)).toEqual({
      environment_variables: { TZ: "UTC" },
      request_settings: { request_timeout_ms: 5000, max_concurrent_requests_per_instance: 4, max_queue_wait_ms: 250 },
      response_cache_bytes: 65_536,
      readiness_probe: { ...PROBE_DEFAULTS, period: 1, timeout: 2 },
    });
  });
});

describe("problems in the server's words", () => {
  const of = (part: Partial<RunSettings>) => settingsProblems({ ...DEFAULT_SETTINGS, ...part }, { 9: "known" });
  it.each<[Partial<RunSettings>, Record<string, string>]>([
    [{}, {}],
    [{ request_timeout_ms: 0 }, { request_timeout_ms: "0 is out of range: expected 1 to 3600000." }],
    [
      { max_concurrent_requests_per_instance: 10_001 },
      { max_concurrent_requests_per_instance: "10001 is out of range: expected 1 to 10000." },
    ],
    [{ max_queue_wait_ms: -1 }, { max_queue_wait_ms: "-1 is out of range: expected 0 to 3600000." }],
    [{ response_cache_bytes: 1 }, { response_cache_bytes: "1 is out of range: expected 1024 to 1099511627776." }],
    [{ max_queue_wait_ms: 0.5 }, { max_queue_wait_ms: "0.5, expected a whole number 0 to 3600000." }],
    [
      { liveness_probe: { ...PROBE_DEFAULTS, failure_threshold: 1001 } },
      { "liveness_probe.failure_threshold": "1001 is out of range: expected 1 to 1000." },
    ],
    [{ readiness_probe: { ...PROBE_DEFAULTS, initial_delay: 0 } }, {}],
    [{ variables: [variable(1, "A=B")] }, { "variable.1.name": "'A=B' cannot be a variable: expected printable characters without '='." }],
    [{ variables: [variable(1, "A", " ")] }, { "variable.1.value": "It is empty: type the value." }],
    [
      { variables: [variable(1, "A"), variable(2, "A")] },
      { "variable.1.name": "A is there twice.", "variable.2.name": "A is there twice." },
    ],
    [{ variables: [variable(1, "", "")] }, {}],
    [{ variables: [variable(9, "A", "", true)] }, {}],
    [{ variables: [variable(8, "A", "", true)] }, { "variable.8.value": "Type the value: secrets are not kept in drafts." }],
  ])("%j", (part, problems) => expect(of(part)).toEqual(problems));

  it("stand beside the field that a refusal is about", () => {
    const refused = (body: object) => refusedSettings(new ApiProblem({ detail: "No.", ...body }, 400), filled);
    expect(refused({ errors: { readiness_probe: { period: ["Too long."] }, environment: { TZ: ["No zone."] } } })).toEqual({
      "readiness_probe.period": "Too long.",
      "variable.1.value": "No zone.",
    });
    expect(refused({ field: "request_timeout_ms" })).toEqual({ request_timeout_ms: "No." });
    expect(refused({ field: "secret_environment" })).toEqual({ secret_environment: "No." });
    expect(refused({ field: "secret_environment.TOKEN" })).toEqual({ "variable.2.value": "No." });
    expect(refusedSettings(new Error("offline"), filled)).toEqual({});
  });
});

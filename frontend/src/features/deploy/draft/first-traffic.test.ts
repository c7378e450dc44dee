import { describe, expect, it } from "vitest";
import { PLAN } from "@/components/rollout-plan/plan";
import {
  deployLabel,
  firstTraffic,
  storedTraffic,
  trafficBody,
  trafficNote,
  trafficOptions,
  trafficProblem,
  trafficText,
  waysFor,
  whyFew,
} from "./first-traffic";

const SERVING = { traffic: { blue: 100 } };
const NOBODY = { traffic: { blue: 0 } };

describe("the first traffic of a deployment", () => {
  it("is all or nothing where nothing answers beside it, and says why", () => {
    expect(waysFor(SERVING)).toEqual(["none", "share", "all", "rollout"]);
    expect(whyFew("net", SERVING)).toBeNull();
    for (const existing of [undefined, NOBODY, { traffic: {} }]) expect(waysFor(existing)).toEqual(["none", "all"]);
    expect(whyFew("net", NOBODY)).toMatch(/nothing of net gets traffic/);
    expect(whyFew("net", undefined)).toMatch(/a new endpoint has none/);
  });

  it("of a draft of before there were ways is all or nothing", () => {
    const first = firstTraffic("none");
    expect(storedTraffic(first, { takeTraffic: true })).toEqual(firstTraffic("all"));
    expect(storedTraffic(firstTraffic("all"), { takeTraffic: false })).toEqual(first);
    expect(storedTraffic(firstTraffic("all"), {})).toEqual(firstTraffic("all"));
    const now = { takeTraffic: true, traffic: { way: "share" as const, share: 25 } };
    expect(storedTraffic(first, now)).toEqual({ way: "share", share: 25, plan: PLAN });
  });

  it.each([
    ["none", { traffic: 0 }, [], "0 % of the traffic"],
    ["all", { traffic: 100 }, ["--all-traffic"], "100 % of the traffic"],
    ["share", { traffic: 10 }, ["--traffic", "10"], "10 % of the traffic"],
  ] as const)("%s is a share", (way, body, options, text) => {
    const first = firstTraffic(way);
    expect([trafficBody(first), trafficOptions(first), trafficText(first)]).toEqual([body, options, text]);
    expect(trafficProblem(first)).toBeNull();
  });

  it("in stages is a rollout, and no share", () => {
    const first = { ...firstTraffic("rollout"), plan: { ...PLAN, steps: "5, 100", minutes: 1 } };
    const steps = [
      { percent: 5, hold_s: 60 },
      { percent: 100, hold_s: 0 },
    ];
    expect(trafficBody(first)).toEqual({ rollout: { steps, min_requests: 200 } });
    expect(trafficOptions(first).join(" ")).toBe("--rollout --steps 5:60,100:0 --min-requests 200");
    expect(trafficText(first)).toBe("in stages: 5 % → 100 %");
    expect(deployLabel("green", first)).toBe("Deploy green and roll it out");
  });

  it.each([0, 100, 2.5, "", "ten"])("a share of %j is none", (share) =>
    expect(trafficProblem({ ...firstTraffic("share"), share })).toMatch(/from 1 to 99/),
  );

  it("stages that are not complete are said", () =>
    expect(trafficProblem({ ...firstTraffic("rollout"), plan: { ...PLAN, steps: "5" } })).toMatch(/not complete/));

  it("says what comes of it", () => {
    expect(trafficNote("green", firstTraffic("share"), SERVING)).toBe(
      "Before: blue 100 %. After: green 10 %, the others keep their proportions.",
    );
    expect(trafficNote("green", firstTraffic("all"), SERVING)).toBe("Before: blue 100 %. After: green 100 %.");
    expect(trafficNote("green", firstTraffic("all"), undefined)).toMatch(/answers as soon as every replica is ready/);
    expect(trafficNote("green", firstTraffic("rollout"), SERVING)).toMatch(/this page may be closed/);
  });
});

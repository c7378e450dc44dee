import { describe, expect, it } from "vitest";
import type { TrafficChange, TrafficWatch } from "@/api/types";
import { isTold, verdict } from "./verdict";

type Found = NonNullable<TrafficWatch["found"]>;
type Kind = Found["verdict"];

const BEFORE = { requests: 1_000, error_share: 0, p95_us: 8_100 };
const one = (kind: Kind, compared = true, deployment = "green"): Found["gaining"][number] => ({
  deployment,
  compared,
  verdict: kind,
  figures: { requests: 100, error_share: 0.02, p95_us: 16_000 },
});
const of = (kind: Kind, ...gaining: Found["gaining"]): Found => ({ before: BEFORE, gaining, verdict: kind, text: "" });

describe("what is said after traffic was moved", () => {
  it.each([
    ["nothing is known yet", null, "info", ""],
    ["few requests", of("too_few", one("too_few")), "info", "Watching green"],
    ["as good", of("fine", one("fine")), "ok", "green does no worse than before"],
    ["good, with nothing to compare with", of("fine", one("fine", false)), "ok", "green answers"],
    ["errors", of("errors", one("errors")), "error", "green fails more requests than before"],
    ["errors, with nothing to compare with", of("errors", one("errors", false)), "error", "green answers with errors"],
    ["slower", of("slower", one("slower")), "warn", "green is slower than before"],
    ["nobody answers", of("nobody"), "warn", "Nobody gets requests"],
    ["nobody gets more", of("none_gains"), "info", "Traffic is moved"],
    ["two good ones", of("fine", one("fine", true, "blue"), one("fine")), "ok", "blue and green do no worse than before"],
    ["the worse of two", of("errors", one("fine", true, "blue"), one("errors")), "error", "green fails more requests than before"],
  ])("%s", (_, found, tone, title) => {
    expect(verdict(found)).toMatchObject({ tone, title });
  });

  it("tells both sides", () => {
    const told = verdict(of("slower", one("slower"))).detail.replaceAll(/\s/g, " ");
    expect(told).toBe("Errors 2.0 %, p95 16.0 ms; before the change errors 0 %, p95 8.10 ms.");
  });
});

describe("what is still shown", () => {
  const inState = (state: TrafficChange["state"]) => ({ state }) as TrafficChange;
  it.each([
    ["routing", null, true],
    ["watching", of("fine", one("fine")), true],
    ["undone", of("fine", one("fine")), true],
    ["watched", of("fine", one("fine")), false],
    ["watched", null, false],
    ["watched", of("errors", one("errors")), true],
    ["watched", of("nobody"), true],
  ] as const)("%s %o: %s", (state, found, told) => {
    expect(isTold(inState(state), found)).toBe(told);
  });
});

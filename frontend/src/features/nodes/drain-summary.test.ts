import { describe, expect, it } from "vitest";
import type { DrainMove } from "@/api/types";
import { drainSummary } from "./drain-summary";

const move = (to: string | null, replica = "r"): DrainMove => ({
  replica,
  node: "a1",
  endpoint: "digits",
  deployment: "blue",
  ordinal: 0,
  traffic: 100,
  to,
  why_not: to === null ? "no GPU" : "",
  waits_for: "",
});

describe("a drain in one sentence", () => {
  it.each([
    [[], "Nothing runs on a1: it only stops taking anything new."],
    [[move("b")], "1 replica will answer on b before it goes here."],
    [[move("c"), move("b"), move("b")], "3 replicas will answer on b, c before they go here."],
    [[move(null)], "1 replica has nowhere to go."],
    [[move("b"), move(null), move(null)], "1 replica will answer on b before it goes here; 2 replicas have nowhere to go."],
  ])("%#", (moves, sentence) => expect(drainSummary(["a1"], moves).sentence).toBe(sentence));
  it.each([
    [[], "Nothing runs on a1, a2: they only stop taking anything new."],
    [[move("b"), { ...move("b"), node: "a2" }], "2 replicas will answer on b before they go here."],
    [
      [{ ...move("b"), waits_for: "blue is Updating" }],
      "1 replica will answer on b before it goes here; 1 waits for an operation to end first.",
    ],
  ])("of several, %#", (moves, sentence) => expect(drainSummary(["a1", "a2"], moves).sentence).toBe(sentence));
  it("names what is stuck", () =>
    expect(drainSummary(["a1"], [move("b"), move(null, "x")]).stuck.map((each) => each.replica)).toEqual(["x"]));
});

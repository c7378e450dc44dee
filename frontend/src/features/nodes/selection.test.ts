import { describe, expect, it } from "vitest";
import type { NodeItem } from "@/api/types";
import { allToggled, chosenOf, offersOf, ticksOf, toggled } from "./selection";

const node = (name: string, over: Partial<NodeItem> = {}) => ({ name, cordoned: false, drain: null, ...over }) as NodeItem;
const ROWS = [
  node("a"),
  node("b", { cordoned: true }),
  node("c", { cordoned: true, drain: { started_at: "", deadline_at: null, done: true } }),
];

describe("ticking nodes", () => {
  it("ticks and unticks one", () => {
    expect([...toggled(new Set(["a"]), "b")]).toEqual(["a", "b"]);
    expect([...toggled(new Set(["a", "b"]), "b")]).toEqual(["a"]);
  });
  it.each([
    [[], ["a", "b", "c"]],
    [["a"], ["a", "b", "c"]],
    [["a", "b", "c"], []],
    [["a", "b", "c", "hidden"], []],
  ])("all at once, from %j", (before, after) => expect([...allToggled(new Set(before), ROWS)]).toEqual(after));
  it.each([
    [["hidden"], "none"],
    [["a"], "some"],
    [["a", "b", "c", "hidden"], "all"],
  ])("%j is %s", (ticked, said) => expect(ticksOf(new Set(ticked), ROWS)).toBe(said));
  it("is none in an empty list", () => expect(ticksOf(new Set(["a"]), [])).toBe("none"));
  it("leaves out what is not shown", () => expect(chosenOf(new Set(["b", "hidden"]), ROWS).map(({ name }) => name)).toEqual(["b"]));
});

describe("what may be done", () => {
  it("is what changes something", () => expect(offersOf(ROWS)).toEqual({ cordon: ["a"], uncordon: ["b", "c"], drain: ["a", "b"] }));
});

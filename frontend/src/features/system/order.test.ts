import { expect, it } from "vitest";
import type { SystemPart } from "@/api/types";
import { grouped, partsWords } from "./order";

const part = (kind: SystemPart["kind"], name: string, state: SystemPart["state"]): SystemPart => ({
  kind,
  name,
  state,
  summary: "",
  hint: "",
  facts: [],
  lag_s: null,
  depth: null,
});

it("groups parts, the worst first, and leaves empty groups out", () => {
  const parts = [
    part("web", "w", "ok"),
    part("agent", "b", "ok"),
    part("agent", "c", "error"),
    part("agent", "a", "ok"),
    part("beat", "t", "unknown"),
  ];
  expect(grouped(parts).map((group) => [group.title, group.parts.map((each) => each.name)])).toEqual([
    ["Control plane", ["w"]],
    ["Background work", ["t"]],
    ["Node agents", ["c", "b", "a"]],
  ]);
});

it("says how many parts want a look, one as one", () => {
  expect(partsWords(0, 12)).toBe("All parts work");
  expect(partsWords(1, 12)).toBe("1 of 12 parts needs a look");
  expect(partsWords(2, 12)).toBe("2 of 12 parts need a look");
});

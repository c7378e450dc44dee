import { expect, it } from "vitest";
import type { SystemPart } from "@/api/types";
import { grouped } from "./order";

const part = (kind: SystemPart["kind"], name: string, state: SystemPart["state"]): SystemPart => ({
  kind, name, state, summary: "", hint: "", facts: [], lag_s: null, depth: null,
});

it("groups parts, the worst first, and leaves empty groups out", () => {
  const parts = [part("web", "w", "ok"), part("agent", "b", "ok"), part("agent", "c", "error"), part("agent", "a", "ok"), part("beat", "t", "unknown")];
  expect(grouped(parts).map((group) => [group.title, group.parts.map((each) => each.name)])).toEqual([
    ["Control plane", ["w"]],
    ["Background work", ["t"]],
    ["Node agents", ["c", "b", "a"]],
  ]);
});

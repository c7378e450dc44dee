import { describe, expect, it } from "vitest";
import type { Operation } from "@/api/types";
import { endedSince, statesOf } from "./operation-news";

const operation = (id: string, state: Operation["state"]) => ({ id, state }) as Operation;

describe("operations that ended between two looks", () => {
  const before = statesOf([operation("a", "Running"), operation("b", "Queued"), operation("c", "Succeeded"), operation("d", "Running")]);
  it("are those that were running and are over", () => {
    const now = [
      operation("a", "Failed"),
      operation("b", "Succeeded"),
      operation("c", "Succeeded"),
      operation("d", "Running"),
      operation("e", "Failed"),
    ];
    expect(endedSince(before, now).map(({ id }) => id)).toEqual(["a", "b"]);
  });
  it("are none at the first look", () => expect(endedSince(new Map(), [operation("a", "Failed")])).toEqual([]));
});

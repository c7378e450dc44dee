import { describe, expect, it } from "vitest";
import type { BuiltInput } from "@/inference/tensor/built-input";
import type { CallRecord } from "../results/outcome";
import { lastCall } from "./last-call";

const input = (over: Partial<BuiltInput> = {}): BuiltInput =>
  ({ name: "x", datatype: "FP32", shape: [1, 2], elements: [0.5, 1], ...over }) as BuiltInput;
const record = (over: Partial<CallRecord> = {}): CallRecord =>
  ({
    deployment: "green",
    model: "net",
    options: { version: "2" },
    parameters: { sequence_id: 7 },
    sent: [input()],
    outcome: null,
    parts: [],
    at: "2026-01-01T00:00:00Z",
    ...over,
  }) as unknown as CallRecord;

describe("the console's last call", () => {
  it("is the newest of the history, as it was sent", () => {
    expect(lastCall([])).toBeNull();
    const found = lastCall([record(), record({ model: "older" })]);
    expect(found?.call).toEqual({
      deployment: "green",
      model: "net",
      version: "2",
      decoupled: false,
      parameters: { sequence_id: 7 },
      outputs: [],
    });
    expect(found?.inputs).toEqual([input()]);
  });

  it("knows the outputs that came, and a stream by its parts", () => {
    const answered = { kind: "result", outputs: [{ name: "y" }, { name: "z" }], responses: null } as unknown as CallRecord["outcome"];
    expect(lastCall([record({ outcome: answered })])?.call).toMatchObject({ outputs: ["y", "z"], decoupled: false });
    const parts = [{ outputs: [{ name: "token" }] }, { outputs: [{ name: "token" }] }] as unknown as CallRecord["parts"];
    expect(lastCall([record({ parts })])?.call).toMatchObject({ outputs: ["token"], decoupled: true });
  });
});

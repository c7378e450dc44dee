import { describe, expect, it } from "vitest";
import { newOptions } from "../request/options";
import { callOf, contentOf, type CallRecord } from "./outcome";

const record = (part: Partial<CallRecord> = {}): CallRecord => ({
  id: 7,
  at: "2026-01-01T00:00:00Z",
  deployment: "blue",
  model: "digits",
  options: { ...newOptions(), protocol: "grpc", version: "3" },
  batchSize: 1,
  drafts: [],
  sent: [{ name: "x", datatype: "INT64", shape: [1, 2], elements: ["1", "2"], bytes: 16 }],
  parameters: { sequence_id: 5 },
  outcome: { kind: "lost", sent: true },
  parts: [],
  first: true,
  ...part,
});

describe("a call that is sent again", () => {
  it("is the call that was sent, with its tensors, its target and its parameters", () => {
    const call = callOf(contentOf(record()));
    expect(call).toMatchObject({ model: "digits", deployment: "blue", version: "3", protocol: "grpc", parameters: { sequence_id: 5 } });
    expect(call.inputs).toMatchObject([{ name: "x", datatype: "INT64", shape: [1, 2] }]);
    expect(call).toEqual(callOf(record()));
  });

  it.each(["id", "at", "outcome", "parts", "first"])("begins without the %s of the first time", (key) =>
    expect(contentOf(record())).not.toHaveProperty(key),
  );

  it("leaves target and version to the server where none was chosen", () => {
    const call = callOf(record({ deployment: null, options: newOptions() }));
    expect(call).not.toHaveProperty("deployment");
    expect(call).not.toHaveProperty("version");
  });
});

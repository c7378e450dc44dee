import { describe, expect, it } from "vitest";
import { readConfig } from "./config-fields";
import {
  removeField,
  setDynamicBatching,
  setInstanceCount,
  setInstanceKind,
  setMaxBatchSize,
  setMaxQueueDelay,
  setPreferredBatchSizes,
  writtenField,
} from "./config-patch";
import { PbtxtSyntaxError } from "./pbtxt-ast";

const COMMENTED = `# made by hand
name: "resnet50"  # the served name
backend: "onnxruntime"
max_batch_size: 32 # enough for the edge boxes

input [
  {
    name: "data"
    data_type: TYPE_FP32
    dims: [ 3, 224, 224 ]
  }
]

# two are enough
instance_group [
  {
    count: 2 # measured
    kind: KIND_GPU
    gpus: [ 0, 1 ]
  }
]

dynamic_batching {
  # keep small
  preferred_batch_size: [ 8, 16 ]
  max_queue_delay_microseconds: 10000
}

parameters { key: "x" value: { string_value: "max_batch_size: 7 # no" } }
`;

/** Lines that differ, as `-old` and `+new`: a patch must touch nothing else. */
function changes(before: string, after: string): string[] {
  const old = before.split("\n");
  const now = after.split("\n");
  const removed = old.filter((line) => !now.includes(line)).map((line) => `-${line}`);
  const added = now.filter((line) => !old.includes(line)).map((line) => `+${line}`);
  return [...removed, ...added];
}

describe("replacing what is written", () => {
  it("changes max_batch_size and keeps its comment, and a look-alike inside a string", () => {
    expect(changes(COMMENTED, setMaxBatchSize(COMMENTED, 8))).toEqual([
      "-max_batch_size: 32 # enough for the edge boxes",
      "+max_batch_size: 8 # enough for the edge boxes",
    ]);
  });

  it("changes count and kind of the instance group", () => {
    expect(changes(COMMENTED, setInstanceCount(COMMENTED, 4))).toEqual(["-    count: 2 # measured", "+    count: 4 # measured"]);
    expect(changes(COMMENTED, setInstanceKind(COMMENTED, "KIND_CPU"))).toEqual(["-    kind: KIND_GPU", "+    kind: KIND_CPU"]);
  });

  it("takes the kind out for the automatic choice", () => {
    expect(changes(COMMENTED, setInstanceKind(COMMENTED, "KIND_AUTO"))).toEqual(["-    kind: KIND_GPU"]);
  });

  it("changes the batching fields", () => {
    expect(changes(COMMENTED, setPreferredBatchSizes(COMMENTED, [4]))).toEqual([
      "-  preferred_batch_size: [ 8, 16 ]",
      "+  preferred_batch_size: [ 4 ]",
    ]);
    expect(changes(COMMENTED, setMaxQueueDelay(COMMENTED, 500))).toEqual([
      "-  max_queue_delay_microseconds: 10000",
      "+  max_queue_delay_microseconds: 500",
    ]);
    expect(changes(COMMENTED, setPreferredBatchSizes(COMMENTED, []))).toEqual(["-  preferred_batch_size: [ 8, 16 ]"]);
  });

  it("switches batching off with its block and one of the empty lines, and back on with what was written", () => {
    const block = writtenField(COMMENTED, "dynamic_batching");
    const off = setDynamicBatching(COMMENTED, false);
    expect(off).not.toContain("dynamic_batching");
    expect(off).not.toContain("\n\n\n");
    expect(off).toContain('parameters { key: "x"');
    const on = setDynamicBatching(off, true, block);
    expect(on).toContain("  # keep small\n  preferred_batch_size: [ 8, 16 ]");
    expect(readConfig(on).fields?.maxQueueDelayMicroseconds).toBe(10000);
  });

  it("folds a repeated scalar into one list", () => {
    const text = "dynamic_batching { preferred_batch_size: 4 preferred_batch_size: 8 max_queue_delay_microseconds: 5 }\n";
    const patched = setPreferredBatchSizes(text, [2, 16]);
    expect(patched).toBe("dynamic_batching { preferred_batch_size: [ 2, 16 ] max_queue_delay_microseconds: 5 }\n");
  });

  it("keeps a comment that shared the line of a removed field", () => {
    expect(removeField('max_batch_size: 4 # note\nname: "a"\n', "max_batch_size")).toBe('# note\nname: "a"\n');
  });
});

describe("adding what is missing", () => {
  it("puts max_batch_size after the name and backend", () => {
    expect(setMaxBatchSize('name: "a" # n\nbackend: "onnxruntime"\ninput { name: "x" }\n', 4)).toBe(
      'name: "a" # n\nbackend: "onnxruntime"\nmax_batch_size: 4\ninput { name: "x" }\n',
    );
    expect(setMaxBatchSize("", 4)).toBe("max_batch_size: 4\n");
    expect(setMaxBatchSize('name: "a" input { name: "x" }', 4)).toBe('name: "a"\nmax_batch_size: 4\n input { name: "x" }');
  });

  it("adds a group, then fields to it", () => {
    const one = setInstanceCount('name: "a"\n', 3);
    expect(one).toBe('name: "a"\n\ninstance_group [\n  {\n    count: 3\n  }\n]\n');
    expect(setInstanceKind(one, "KIND_CPU")).toBe('name: "a"\n\ninstance_group [\n  {\n    count: 3\n    kind: KIND_CPU\n  }\n]\n');
  });

  it("opens an empty batching block over several lines", () => {
    expect(setMaxQueueDelay('name: "a"\n', 200)).toBe('name: "a"\n\ndynamic_batching {\n  max_queue_delay_microseconds: 200\n}\n');
  });

  it("adds after a trailing comment, and inside the one-line form", () => {
    const text = "dynamic_batching {\n  preferred_batch_size: [ 4 ] # four\n}\n";
    expect(setMaxQueueDelay(text, 9)).toBe(
      "dynamic_batching {\n  preferred_batch_size: [ 4 ] # four\n  max_queue_delay_microseconds: 9\n}\n",
    );
    expect(setInstanceKind("instance_group { count: 1 }\n", "KIND_GPU")).toBe("instance_group { count: 1 kind: KIND_GPU }\n");
  });

  it("adds to a block that holds only a comment", () => {
    expect(setMaxQueueDelay("dynamic_batching { # soon\n}\n", 9)).toBe("dynamic_batching { # soon\n  max_queue_delay_microseconds: 9\n}\n");
  });
});

describe("reading", () => {
  it("fills the form", () => {
    expect(readConfig(COMMENTED).fields).toMatchObject({
      maxBatchSize: 32,
      instanceGroups: 1,
      instanceCount: 2,
      instanceKind: "KIND_GPU",
      dynamicBatching: true,
      preferredBatchSizes: [8, 16],
      maxQueueDelayMicroseconds: 10000,
      parameters: [{ key: "x", value: "max_batch_size: 7 # no" }],
      otherSettings: [],
    });
  });

  it("reads angle brackets, separators, repeated blocks and joined strings", () => {
    const fields = readConfig(`name: "a" 'b'; instance_group < count: 1, > instance_group { count: 2 }`).fields;
    expect(fields?.instanceGroups).toBe(2);
    expect(fields?.instanceCount).toBe(1);
  });

  it("names the place of an error", () => {
    expect(readConfig('name: "a"\ninput [\n  { name: "x" \n]\n').error).toMatchObject({ line: 4, column: 1 });
    expect(readConfig('name: "a\n').error).toMatchObject({ line: 1, column: 7 });
    expect(readConfig('name "a"').error?.message).toContain("Expected ':' or '{'");
    expect(() => setMaxBatchSize("{", 1)).toThrow(PbtxtSyntaxError);
  });

  it("survives every edit in any order with the text still readable", () => {
    let text = COMMENTED;
    for (const edit of [
      (t: string) => setDynamicBatching(t, false),
      (t: string) => setPreferredBatchSizes(t, [2]),
      (t: string) => setInstanceKind(t, "KIND_AUTO"),
      (t: string) => setInstanceKind(t, "KIND_CPU"),
      (t: string) => removeField(t, "instance_group"),
      (t: string) => setInstanceCount(t, 2),
      (t: string) => setMaxBatchSize(t, 0),
    ]) {
      text = edit(text);
      expect(readConfig(text).error).toBeNull();
    }
    expect(text).toContain("# two are enough");
    expect(text).toContain("# made by hand");
    expect(readConfig(text).fields).toMatchObject({ maxBatchSize: 0, instanceCount: 2, preferredBatchSizes: [2] });
  });
});

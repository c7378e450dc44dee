import { describe, expect, it } from "vitest";
import { readConfig } from "./config-fields";
import { addMessage, quoted, removeAt, removeMessage, setAt, unquoted } from "./pbtxt-edit";

const TEXT = `name: "m"  # mine
input [
  {
    name: "a"
    data_type: TYPE_FP32
    dims: [ 3, 4 ]  # no batch
  },
  { name: "b" data_type: TYPE_INT64 dims: [ -1 ] }
]
parameters { key: "k" value { string_value: "v" } }
parameters { key: "l" value { string_value: "w" } }
`;

describe("writing one value", () => {
  it("in a message of a list, and nothing else", () =>
    expect(setAt(TEXT, ["input", 0, "dims"], "[ 5 ]")).toBe(TEXT.replace("[ 3, 4 ]", "[ 5 ]")));
  it("in a later message", () => expect(setAt(TEXT, ["input", 1, "data_type"], "TYPE_BOOL")).toBe(TEXT.replace("TYPE_INT64", "TYPE_BOOL")));
  it("that was not there yet", () =>
    expect(setAt(TEXT, ["input", 1, "optional"], "true")).toBe(TEXT.replace("[ -1 ] }", "[ -1 ] optional: true }")));
  it("makes the messages on the way", () => {
    const text = setAt(TEXT, ["optimization", "graph", "level"], "1");
    expect(text.startsWith(TEXT.trimEnd())).toBe(true);
    expect(readConfig(text).fields?.graphLevel).toBe(1);
    expect(readConfig(setAt(text, ["optimization", "graph", "level"], "-1")).fields?.graphLevel).toBe(-1);
  });
  it("at the top", () => expect(setAt("", ["backend"], quoted("python"))).toBe('backend: "python"\n'));
});

describe("taking out", () => {
  it("a value, with its line when it stands alone", () =>
    expect(removeAt(TEXT, ["input", 0, "data_type"])).toBe(TEXT.replace("    data_type: TYPE_FP32\n", "")));
  it("what is not there changes nothing", () => {
    expect(removeAt(TEXT, ["input", 0, "reshape"])).toBe(TEXT);
    expect(removeAt(TEXT, ["optimization", "graph", "level"])).toBe(TEXT);
  });
  it("one of several messages, however they are written", () => {
    expect(readConfig(removeMessage(TEXT, "input", 0)).fields?.inputs.map((one) => one.name)).toEqual(["b"]);
    expect(readConfig(removeMessage(TEXT, "input", 1)).fields?.inputs.map((one) => one.name)).toEqual(["a"]);
    expect(removeMessage(TEXT, "parameters", 0)).toBe(TEXT.replace(/parameters .*"k".*\n/, ""));
    expect(removeMessage(TEXT, "parameters", 7)).toBe(TEXT);
  });
  it("the last message takes the field with it", () =>
    expect(removeMessage(removeMessage(TEXT, "input", 0), "input", 0)).not.toContain("input"));
});

describe("adding a message", () => {
  it.each([
    ["to a list", TEXT, "input", 'name: "c"', ["a", "b", "c"]],
    ["to a field that is not there", 'name: "m"\n', "input", 'name: "c"', ["c"]],
    ["to an empty list", "input [ ]\n", "input", 'name: "c"', ["c"]],
  ])("%s", (_, text, name, body, names) =>
    expect(readConfig(addMessage(text, name, body)).fields?.inputs.map((one) => one.name)).toEqual(names),
  );
  it("beside messages that are written one by one", () => {
    const text = addMessage(TEXT, "parameters", 'key: "n" value { string_value: "x" }');
    expect(readConfig(text).fields?.parameters.map((one) => one.key)).toEqual(["k", "l", "n"]);
  });
});

describe("strings", () => {
  it.each([
    ['"a\\"b"', 'a"b'],
    ["'x'", "x"],
    ['"a" "b"', "ab"],
    ['"1\\n2"', "1\n2"],
    ["TYPE_FP32", "TYPE_FP32"],
  ])("%s", (scalar, value) => expect(unquoted(scalar)).toBe(value));
});

describe("reading the advanced sections", () => {
  it("knows what it shows, and keeps the rest", () => {
    const { fields } = readConfig(`
version_policy { specific { versions: [ 1, 3 ] } }
response_cache { enable: true }
sequence_batching { max_sequence_idle_microseconds: 5000000 oldest { } }
optimization { graph { level: 1 } execution_accelerators { gpu_execution_accelerator [ { name: "tensorrt" } ] } }
model_warmup [ { name: "w" batch_size: 4 inputs { key: "a" value { } } } ]
ensemble_scheduling { step [ { model_name: "p" input_map { key: "x" value: "RAW" } output_map { key: "y" value: "z" } } ] }
instance_group [ { kind: KIND_GPU gpus: [ 0, 1 ] } ]
dynamic_batching { default_queue_policy { default_timeout_microseconds: 5000 } }
model_transaction_policy { decoupled: true }
`);
    expect(fields).toMatchObject({
      versionPolicy: { kind: "specific", versions: [1, 3] },
      responseCache: true,
      sequence: { strategy: "oldest", maxIdleMicroseconds: 5_000_000 },
      graphLevel: 1,
      queue: { timeoutMicroseconds: 5000, size: null },
      accelerators: ["tensorrt"],
      warmups: [{ name: "w", batchSize: 4, inputs: 1 }],
      ensemble: [{ model: "p", inputs: [["x", "RAW"]], outputs: [["y", "z"]] }],
      gpus: [0, 1],
      otherSettings: ["model_transaction_policy"],
    });
  });
});

import { describe, expect, it } from "vitest";
import { readConfig } from "./config-fields";
import { addStep, freeName, removeStep, renameTensor, setConnection, setOutput, setStepVersion } from "./pipeline-edit";

const TEXT = `# Text in, label out.
name: "pipe"
platform: "ensemble"
input [ { name: "text" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "scores" data_type: TYPE_FP32 dims: [ 3 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "split"  # words
      model_version: -1
      input_map { key: "t" value: "text" }
      output_map { key: "ids" value: "ids" }
    },
    # the network
    {
      model_name: "net"
      input_map { key: "x" value: "ids" }
      output_map { key: "y" value: "scores" }
      unknown_field: 7
    }
  ]
}
parameters { key: "k" value { string_value: "ids" } }
`;

/** The same, one field for each step, as other tools write it. */
const REPEATED = `name: "pipe"
ensemble_scheduling {
  step { model_name: "split" input_map { key: "t" value: "text" } output_map { key: "ids" value: "ids" } }
  step { model_name: "net" input_map { key: "x" value: "ids" } output_map { key: "y" value: "scores" } }
}
`;

const stepsOf = (text: string) =>
  readConfig(text).fields?.ensemble?.map((step) => [
    step.model,
    step.version,
    Object.fromEntries(step.inputs),
    Object.fromEntries(step.outputs),
  ]);
const SPLIT = ["split", -1, { t: "text" }, { ids: "ids" }];
const NET = ["net", null, { x: "ids" }, { y: "scores" }];

interface Case {
  name: string;
  edit: (text: string) => string;
  /** What is read from the edited text. */
  steps: unknown;
  /** Lines that come or go: with `-` and `+`, in order. */
  lines?: string[];
}

const CASES: Case[] = [
  {
    name: "a step is added, its outputs called as nothing else is",
    edit: (text) => addStep(text, "post", ["scores", "ids", "z"]),
    steps: [SPLIT, NET, ["post", -1, {}, { scores: "scores_2", ids: "ids_2", z: "z" }]],
  },
  { name: "the first step is removed", edit: (text) => removeStep(text, 0), steps: [NET] },
  { name: "the last step is removed", edit: (text) => removeStep(text, 1), steps: [SPLIT] },
  { name: "both are", edit: (text) => removeStep(removeStep(text, 1), 0), steps: [] },
  { name: "none is there", edit: (text) => removeStep(text, 5), steps: [SPLIT, NET], lines: [] },
  {
    name: "a version is chosen",
    edit: (text) => setStepVersion(text, 0, 3),
    steps: [["split", 3, { t: "text" }, { ids: "ids" }], NET],
    lines: ["-      model_version: -1", "+      model_version: 3"],
  },
  {
    name: "a version is written where there was none",
    edit: (text) => setStepVersion(text, 1, 2),
    steps: [SPLIT, ["net", 2, { x: "ids" }, { y: "scores" }]],
    lines: ["+      model_version: 2"],
  },
  {
    name: "an input takes another tensor",
    edit: (text) => setConnection(text, 1, "input_map", "x", "text"),
    steps: [SPLIT, ["net", null, { x: "text" }, { y: "scores" }]],
    lines: ['-      input_map { key: "x" value: "ids" }', '+      input_map { key: "x" value: "text" }'],
  },
  {
    name: "an input that took none is connected",
    edit: (text) => setConnection(text, 1, "input_map", "mask", "text"),
    steps: [SPLIT, ["net", null, { x: "ids", mask: "text" }, { y: "scores" }]],
    lines: ['+      input_map { key: "mask" value: "text" }'],
  },
  {
    name: "a connection is taken out",
    edit: (text) => setConnection(text, 1, "input_map", "x", null),
    steps: [SPLIT, ["net", null, {}, { y: "scores" }]],
    lines: ['-      input_map { key: "x" value: "ids" }'],
  },
  { name: "one that is not there", edit: (text) => setConnection(text, 1, "input_map", "q", null), steps: [SPLIT, NET], lines: [] },
  {
    name: "a tensor is renamed where it is made and taken, and in no other place",
    edit: (text) => renameTensor(text, "ids", 'token "ids"'),
    steps: [
      ["split", -1, { t: "text" }, { ids: 'token "ids"' }],
      ["net", null, { x: 'token "ids"' }, { y: "scores" }],
    ],
    lines: [
      '-      output_map { key: "ids" value: "ids" }',
      '+      output_map { key: "ids" value: "token \\"ids\\"" }',
      '-      input_map { key: "x" value: "ids" }',
      '+      input_map { key: "x" value: "token \\"ids\\"" }',
    ],
  },
  {
    name: "an output is what another step makes; its old maker gets another name",
    edit: (text) => setOutput(text, "scores", "ids"),
    steps: [
      ["split", -1, { t: "text" }, { ids: "scores" }],
      ["net", null, { x: "scores" }, { y: "scores_before" }],
    ],
  },
  { name: "an output stays what it is", edit: (text) => setOutput(text, "scores", "scores"), steps: [SPLIT, NET], lines: [] },
];

/** Lines that differ, in order, by the longest common beginning and end of what is left after each. */
function differences(before: string, after: string): string[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const found: string[] = [];
  while (a.length > 0 || b.length > 0) {
    if (a[0] === b[0]) {
      a.shift();
      b.shift();
    } else if (a[0] !== undefined && !b.includes(a[0])) found.push(`-${a.shift()}`);
    else found.push(`+${b.shift()}`);
  }
  return found;
}

describe("an edit of the drawing is an edit of the text", () => {
  it.each(CASES)("$name", ({ edit, steps, lines }) => {
    const edited = edit(TEXT);
    expect(stepsOf(edited)).toEqual(steps);
    if (lines) expect(differences(TEXT, edited)).toEqual(lines);
    // What the drawing does not know stays.
    expect(edited.startsWith("# Text in, label out.\n")).toBe(true);
    expect(edited.endsWith('parameters { key: "k" value { string_value: "ids" } }\n')).toBe(true);
  });

  it.each(CASES)("also where each step is a field of its own: $name", ({ edit, steps }) => {
    const versions = (value: unknown) => JSON.stringify(value).replaceAll('"split",-1', '"split",null');
    expect(JSON.stringify(stepsOf(edit(REPEATED)))).toBe(versions(steps));
  });

  it("keeps comments between steps, and fields that nobody knows", () => {
    expect(removeStep(TEXT, 0)).toContain('  step [\n    # the network\n    {\n      model_name: "net"');
    expect(removeStep(TEXT, 0)).toContain("unknown_field: 7");
    expect(removeStep(TEXT, 1)).toContain('model_name: "split"  # words');
    expect(removeStep(TEXT, 1)).toContain("# the network");
  });

  it("undoes itself: what is added and removed again is what it was", () => {
    for (const text of [TEXT, REPEATED]) {
      const back = removeStep(addStep(text, "post", ["z"]), 2);
      expect(stepsOf(back)).toEqual(stepsOf(text));
      expect(back.replaceAll(/\s+/g, " ")).toBe(text.replaceAll(/\s+/g, " "));
    }
  });

  it("begins with the first step", () => {
    for (const empty of ['platform: "ensemble"\nensemble_scheduling { }\n', "ensemble_scheduling {\n  step [ ]\n}\n"]) {
      expect(stepsOf(addStep(empty, "one", ["y"]))).toEqual([["one", -1, {}, { y: "y" }]]);
    }
    expect(addStep('name: "m"\n', "one", ["y"])).toBe('name: "m"\n');
  });
});

it("names are numbered where they are taken", () => {
  expect(freeName("y", new Set(["x"]))).toBe("y");
  expect(freeName("y", new Set(["y", "y_2"]))).toBe("y_3");
});

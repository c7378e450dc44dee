import { describe, expect, it } from "vitest";
import { lineIn, lineOfCulprit } from "./raw-line";

describe("the line that a text names", () => {
  it.each([
    ["failed to parse config.pbtxt:12: expected", 12],
    ["Error in line 7 of the file", 7],
    ['[libprotobuf ERROR]\n3:14 : Message type has no field named "x"', 3],
    ["took 12:30 to load", null],
    ["nothing", null],
  ])("%s", (text, line) => expect(lineIn(text)).toBe(line));
});

describe("the line to look at first", () => {
  const config = 'name: "m"\nbackend: "onnxruntime"\ninput [\n  {\n    name: "data"\n    data_type: TYPE_FP32\n  }\n]\n';
  it.each([
    ["unexpected inference input 'data'", 5],
    ["unable to load model 'm', 'backend' is unknown", 2],
    ["at line 6", 6],
    ["wrong data type of m", 6],
    ["model m has kind TYPE_FP32 but none is there", 6],
    ["unable to load model 'm'", null],
  ])("%s", (failure, line) => expect(lineOfCulprit(failure, config)).toBe(line));
});

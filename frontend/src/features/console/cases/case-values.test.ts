import { describe, expect, it } from "vitest";
import { caseInputs, caseTensors } from "./case-values";

const input = (datatype: string, shape: number[], elements: ArrayLike<number | string | boolean | Uint8Array>) => ({
  name: "a/b:0",
  datatype,
  shape,
  elements,
  bytes: 0,
});

describe("saved cases", () => {
  it.each([
    ["INT64", [2], ["9007199254740993", "7"]],
    ["FP32", [2], [1.5, NaN]],
    ["FP16", [1], [0.5]],
    ["BYTES", [2], ["text", new Uint8Array([0x89, 0xff])]],
    ["BYTES", [1], ["NaN"]],
    ["BOOL", [2], [true, false]],
  ])("give %s back to the digit", (datatype, shape, elements) => {
    const saved = caseInputs([input(datatype, shape, elements)]);
    expect(JSON.parse(JSON.stringify(saved))).toEqual(saved);
    expect(caseTensors({ inputs: saved } as never)).toEqual([{ name: "a/b:0", datatype, shape, elements }]);
  });

  it("read what scripts saved", () => {
    const inputs = [{ name: "x", datatype: "FP32", shape: [3], data: [1, "NaN", "-Infinity"] }];
    expect(caseTensors({ inputs })[0]?.elements).toEqual([1, NaN, -Infinity]);
  });
});

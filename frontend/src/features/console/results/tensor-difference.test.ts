import { describe, expect, it } from "vitest";
import type { WireOutput } from "@/inference/socket/messages";
import { base64, rawBytes } from "@/inference/tensor/raw-bytes";
import { csvOf, outputTensor } from "./output-tensor";
import { differences } from "./tensor-difference";

const output = (part: Partial<WireOutput>): WireOutput => ({
  name: "y",
  datatype: "FP32",
  shape: [1, 3],
  data: [0.1, 0.7, 0.2],
  truncated: false,
  stats: null,
  ...part,
});

describe("outputs", () => {
  it("are whole where the bytes came along", () => {
    const raw = base64(rawBytes("FP32", [1, 2, 3]));
    expect(outputTensor(output({ data: [1], truncated: true, raw }))).toMatchObject({ elements: [1, 2, 3], complete: true });
    expect(outputTensor(output({ data: [1], truncated: true }))).toMatchObject({ elements: [1], complete: false });
    expect(outputTensor(output({ data: ["NaN", null, "-Infinity"] })).elements).toEqual([NaN, NaN, -Infinity]);
    expect(outputTensor(output({ datatype: "INT64", data: ["9007199254740993"] })).elements).toEqual(["9007199254740993"]);
  });

  it("are written as CSV, a line per row", () => {
    expect(csvOf(outputTensor(output({ shape: [2, 2], data: [1, 2, 3, 4] })))).toBe("1,2\n3,4\n");
    expect(csvOf(outputTensor(output({ datatype: "BYTES", shape: [2], data: ['a, "b"', "c"] })))).toBe('"a, ""b"""\nc\n');
  });
});

describe("differences", () => {
  it("measure numbers and the best class", () => {
    const [one] = differences([output({})], [output({ data: [0.1, 0.3, 0.6] })]);
    expect(one).toMatchObject({ name: "y", reason: null, equal: 1, count: 3, sameBest: false });
    expect(one?.largest).toBeCloseTo(0.4);
    expect(differences([output({})], [output({})])[0]).toMatchObject({ equal: 3, largest: 0, sameBest: true });
    const nan = { data: ["NaN", 0.7, 0.2] };
    expect(differences([output(nan)], [output(nan)])[0]).toMatchObject({ equal: 3 });
  });

  it.each([
    [[output({ name: "z" })], "only"],
    [[output({ datatype: "FP64" })], "FP64 there, FP32 here"],
    [[output({ shape: [3] })], "3 there, 1 × 3 here"],
  ])("say why there is nothing to compare", (before, words) => {
    expect(differences(before, [output({})])[0]?.reason).toContain(words);
  });
});

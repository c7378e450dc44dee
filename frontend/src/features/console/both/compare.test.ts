import { describe, expect, it } from "vitest";
import type { Outcome, WireOutput } from "@/inference/socket/messages";
import { outputTensor } from "../results/output-tensor";
import { type Answered, apart, changeOf, outputsOf, problemOf, textParts } from "./compare";

const output = (part: Partial<WireOutput>): WireOutput => ({
  name: "y",
  datatype: "FP32",
  shape: [1, 3],
  data: [0.1, 0.7, 0.2],
  truncated: false,
  stats: null,
  ...part,
});
const text = (...data: string[]) => output({ datatype: "BYTES", shape: [data.length], data });
const result = (outputs: WireOutput[]) => ({ kind: "result", outputs }) as Outcome;

describe("answers of several deployments", () => {
  it("are of the last response where they are streams, and none where it failed", () => {
    const part = (name: string) => ({ index: 0, atUs: 1, outputs: [output({ name })] });
    const streamed: Answered = { to: "blue", outcome: result([]), parts: [part("a"), part("b")] };
    expect(outputsOf(streamed).map((one) => one.name)).toEqual(["b"]);
    const failed: Answered = {
      to: "green",
      outcome: { kind: "error", code: "Busy", message: "Too many.", triton: null, status: 429 },
      parts: [],
    };
    expect(outputsOf(failed)).toEqual([]);
    expect([problemOf(failed), problemOf(streamed)]).toEqual(["Too many.", null]);
    expect(problemOf({ ...failed, outcome: { kind: "cancelled" } })).toBe("Stopped");
  });

  it("say which label is the best one now", () => {
    const change = changeOf([output({})], output({ data: [0.8, 0.1, 0.1] }), ["cat", "dog", "owl"]);
    expect(change.label).toBe("best class cat, of the first dog");
    expect(change.difference).toMatchObject({ equal: 0, count: 3 });
    const two = output({ shape: [2, 2], data: [1, 0, 0, 1] });
    const other = output({ shape: [2, 2], data: [1, 0, 1, 0] });
    expect(changeOf([two], other, null).label).toBe("best class differs in 1 of 2 rows: in row 1 best class 0, of the first 1");
    expect(changeOf([output({})], output({ data: [0.1, 0.6, 0.3] }), null).label).toBeNull();
  });

  it("mark the words that differ", () => {
    expect(textParts("a quick brown fox", "a quick red fox")).toEqual([
      { text: "a quick ", changed: false },
      { text: "red", changed: true },
      { text: " fox", changed: false },
    ]);
    expect(textParts("same", "same")).toEqual([{ text: "same", changed: false }]);
    expect(textParts("", "new")).toEqual([{ text: "new", changed: true }]);
    expect(changeOf([text("a", "b c")], text("a", "b d"), null).texts).toEqual([
      [
        { text: "b ", changed: false },
        { text: "d", changed: true },
      ],
    ]);
  });

  it("show how far apart pictures and sheets are, and nothing where they are equal or only a part is here", () => {
    const sheet = (data: number[], part: Partial<WireOutput> = {}) => output({ shape: [2, 2], data, ...part });
    expect(changeOf([sheet([1, 2, 3, 4])], sheet([1, 2, 5, 4]), null).distance?.elements).toEqual([0, 0, 2, 0]);
    expect(changeOf([sheet([1, 2, 3, 4])], sheet([1, 2, 3, 4]), null).distance).toBeNull();
    const cut = outputTensor(sheet([1, 2], { truncated: true }));
    expect(apart(cut, outputTensor(sheet([1, 2, 5, 4])))).toBeNull();
    expect(changeOf([output({})], output({ data: [1, 0, 0] }), null).distance).toBeNull();
  });

  it("say where there is nothing to compare", () => {
    expect(changeOf([], output({}), null).difference.reason).toBe("only this one answered it");
    expect(changeOf([output({ shape: [3] })], output({}), null).difference.reason).toContain("there");
  });
});

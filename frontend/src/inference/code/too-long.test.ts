import { describe, expect, it } from "vitest";
import type { BuiltInput } from "../tensor/built-input";
import { MOST_LITERAL, tooLong } from "./too-long";

const input = (over: Partial<BuiltInput> = {}): BuiltInput =>
  ({ name: "x", datatype: "FP32", shape: [1, 2], elements: [0.5, 1], ...over }) as BuiltInput;

describe("written into a program", () => {
  it.each([
    ["a few numbers", input(), null],
    ["many numbers, which travel in a file", input({ shape: [1, 100_000], elements: new Float32Array(100_000) }), null],
    ["a text that fits", input({ datatype: "BYTES", shape: [1], elements: ["a".repeat(MOST_LITERAL)] }), null],
    ["a text that does not", input({ datatype: "BYTES", shape: [1], elements: ["a".repeat(MOST_LITERAL + 1)] }), "x is longer than 32 KiB"],
    ["a file", input({ datatype: "BYTES", shape: [1], elements: [new Uint8Array(MOST_LITERAL)] }), "x is longer than 32 KiB"],
    [
      "many texts",
      input({ datatype: "BYTES", shape: [9_000], elements: Array.from({ length: 9_000 }, () => "word") }),
      "x is longer than 32 KiB",
    ],
  ])("%s", (_, one, why) => {
    if (why === null) expect(tooLong([input(), one])).toBeNull();
    else expect(tooLong([input(), one])).toContain(why);
  });
});

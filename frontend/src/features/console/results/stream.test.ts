import { describe, expect, it } from "vitest";
import type { StreamPart, WireOutput } from "@/inference/socket/messages";
import { partSummary, streamedText, streamFigures } from "./stream";

const part = (index: number, atUs: number, data: WireOutput["data"], datatype = "BYTES"): StreamPart => ({
  index,
  atUs,
  outputs: [{ name: "text", datatype, shape: [data.length], data, truncated: false, stats: null }],
});

describe("streams", () => {
  it("measure the first response and the steps after it", () => {
    expect(streamFigures([])).toEqual({ count: 0, firstUs: null, betweenUs: null, longestUs: null, rate: null });
    const parts = [part(0, 100_000, ["a"]), part(1, 200_000, ["b"]), part(2, 500_000, ["c"])];
    expect(streamFigures(parts)).toEqual({ count: 3, firstUs: 100_000, betweenUs: 200_000, longestUs: 300_000, rate: 5 });
  });

  it("put texts together, and leave numbers alone", () => {
    expect(streamedText([part(0, 1, ["Hel"]), part(1, 2, ["lo", "!"])])).toEqual({ name: "text", text: "Hello!" });
    expect(streamedText([part(0, 1, [1], "INT32")])).toBeNull();
    expect(streamedText([])).toBeNull();
  });

  it("fit on a line", () => {
    expect(partSummary(part(0, 1, [1, 2], "INT32"))).toBe("text = 1, 2");
    expect(partSummary(part(0, 1, [1, 2, 3, 4, 5, 6, 7], "INT32"))).toBe("text = 1, 2, 3, 4, 5, 6, …");
    expect(partSummary({ index: 0, atUs: 1, outputs: [] })).toBe("no outputs");
  });
});

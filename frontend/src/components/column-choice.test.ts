import { describe, expect, it } from "vitest";
import { parseHidden, toggled } from "./column-choice";

describe("hidden columns", () => {
  it.each([
    [null, []],
    ["", []],
    ["by,gone", ["by"]],
    ["took,by", ["took", "by"]],
  ])("of %j are %j", (text, hidden) => expect(parseHidden(text, ["what", "took", "by"])).toEqual(hidden));
  it("come and go", () => {
    expect(toggled([], "by")).toEqual(["by"]);
    expect(toggled(["by", "took"], "by")).toEqual(["took"]);
  });
});

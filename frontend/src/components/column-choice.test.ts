import { describe, expect, it } from "vitest";
import { optional, parseHidden, toggled } from "./column-choice";

describe("hidden columns", () => {
  it.each([
    [null, []],
    ["", []],
    ["by,gone", ["by"]],
    ["took,by", ["took", "by"]],
  ])("of %j are %j", (text, hidden) => expect(parseHidden(text, ["what", "took", "by"])).toEqual(hidden));
  it("are never those for ticks and menus, nor what names a row", () => {
    const columns = [{ header: null }, { header: "Name" }, { header: "Status" }, { header: "CPU" }, { header: null }];
    expect(optional(columns).map(({ header }) => header)).toEqual(["Status", "CPU"]);
  });
  it("come and go", () => {
    expect(toggled([], "by")).toEqual(["by"]);
    expect(toggled(["by", "took"], "by")).toEqual(["took"]);
  });
});

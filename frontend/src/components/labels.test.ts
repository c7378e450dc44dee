import { describe, expect, it } from "vitest";
import { badLabel, labelsOf, labelText } from "./labels";

describe("labels in one line", () => {
  it("come back as they went", () => {
    const labels = { zone: "a", kind: "x=y", empty: "" };
    expect(labelsOf(labelText(labels))).toEqual(labels);
  });
  it.each([
    ["", null],
    ["a=1, b=", null],
    ["a=1, b", "b"],
    ["=1", "=1"],
  ])("finds the bad one in %j", (text, bad) => expect(badLabel(text)).toBe(bad));
});

import { expect, it } from "vitest";
import { textsOf } from "./revision-texts";

const MODELS = [
  { name: "a", config_text: "a file", config_effective: "a complete" },
  { name: "b", config_text: " \n", config_effective: "b complete" },
];
const REVISIONS: { number: number; configs: Record<string, string> }[] = [
  { number: 2, configs: { a: "a two", b: "b two" } },
  { number: 1, configs: { b: "b one" } },
];

it("shows what was edited, else the file, else what was completed", () => {
  expect(textsOf(MODELS, REVISIONS, 0)).toEqual(["a file", "b complete"]);
  expect(textsOf(MODELS, REVISIONS, 1)).toEqual(["a file", "b one"]);
  expect(textsOf(MODELS, REVISIONS, 2)).toEqual(["a two", "b two"]);
  expect(textsOf(MODELS, REVISIONS, 9)).toEqual(["a file", "b complete"]);
});

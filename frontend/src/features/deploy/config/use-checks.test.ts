import { describe, expect, test } from "vitest";
import type { SourceModel } from "./source";
import { editedOthers } from "./use-checks";

const model = (name: string, platform = "") => ({ name, platform, startText: `${name} as uploaded` }) as SourceModel;
const MODELS = [model("net"), model("all", "ensemble"), model("labels")];

describe("what an ensemble is checked beside", () => {
  test.each([
    ["nothing while nothing was changed", ["net as uploaded", "all changed", "labels as uploaded"], 1, {}],
    ["the steps that were changed, not itself", ["net changed", "all changed", "labels as uploaded"], 1, { net: "net changed" }],
    ["nothing for a model that calls none", ["net changed", "all changed", "labels changed"], 0, {}],
  ])("%s", (_, texts, index, others) => {
    expect(editedOthers(MODELS, texts, index)).toEqual(others);
  });
});

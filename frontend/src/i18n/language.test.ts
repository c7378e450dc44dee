import { plural, t } from "@lingui/core/macro";
import { afterEach, describe, expect, it } from "vitest";
import { currentLanguage, preferredLanguage, startLanguage } from "./language";

describe("which language", () => {
  it.each([
    ["what was chosen", "en", ["de-AT"], "en"],
    ["the first of the browser's that there is", null, ["fr-FR", "de-CH", "en"], "de"],
    ["English where none of them is there", null, ["fr", "sv"], "en"],
    ["what an older studio chose and this one has not", "eo", ["de"], "de"],
    ["never a name that every object has", "toString", ["constructor"], "en"],
  ])("%s", (_, chosen, offered, language) => expect(preferredLanguage(chosen, offered)).toBe(language));
});

describe("texts", () => {
  afterEach(() => startLanguage("en"));
  const told = (name: string, count: number) => t`'${name}' isn't one of ${plural(count, { one: "# model", other: "# models" })}`;

  it("stand in the code in English, with their apostrophes", () => {
    expect(told("x", 1)).toBe("'x' isn't one of 1 model");
    expect(told("x", 1200)).toBe("'x' isn't one of 1,200 models");
  });

  it("that no catalogue has are English, with the numbers of the language", async () => {
    await startLanguage("de");
    expect(currentLanguage()).toBe("de");
    expect(told("x", 1200)).toBe("'x' isn't one of 1.200 models");
  });
});

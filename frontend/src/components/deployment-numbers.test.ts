/** Forms take just the numbers that the server takes. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NUMBER_NAMES, NUMBERS } from "./deployment-numbers";

// why not an import: the compiler would make types of all of its 25,000 lines.
const DOCUMENT = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
const TAKEN: Record<string, { minimum: number; maximum: number }> = DOCUMENT.components.schemas.DeployInputRequest.properties;

test.each(NUMBER_NAMES)("%s has the server's range", (name) =>
  expect([TAKEN[name]?.minimum, TAKEN[name]?.maximum]).toEqual(NUMBERS[name].range),
);

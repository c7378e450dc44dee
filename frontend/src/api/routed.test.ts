import { expect, test } from "vitest";
import { unconfirmedWords } from "./routed";

const NOW = Date.parse("2026-01-01T00:00:42Z");
const EAST = { gateway: "east", silent_since: "2026-01-01T00:00:00Z" };

test.each([
  [{ routed: true, unconfirmed: [] }, ""],
  [{ routed: false, unconfirmed: [] }, "Not confirmed by all gateways yet"],
  [{ routed: false, unconfirmed: [EAST] }, "Not confirmed by gateway east (silent for 42 s)"],
  [
    { routed: false, unconfirmed: [EAST, { ...EAST, gateway: "west" }] },
    "Not confirmed by gateway east (silent for 42 s), gateway west (silent for 42 s)",
  ],
])("it is said who may go on by what was before", (endpoint, words) => {
  expect(unconfirmedWords(endpoint, NOW)).toBe(words);
});

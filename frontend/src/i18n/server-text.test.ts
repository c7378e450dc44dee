import { afterEach, expect, test } from "vitest";
import { startLanguage } from "./language";
import { serverText } from "./server-text";
import { SERVER_TEXTS } from "./server-texts";

afterEach(() => startLanguage("en"));

test("fixed texts of the server are in the language of the studio", async () => {
  expect(serverText("Node is silent")).toBe("Node is silent");
  await startLanguage("de");
  expect(serverText("Node is silent")).toBe("Knoten meldet sich nicht");
  expect(serverText("Its agent's log says so.")).toBe("Its agent's log says so.");
});

test("a text that the catalogue lacks is English, whatever it looks like", async () => {
  await startLanguage("de");
  for (const text of ["A rule of a newer server", "blue has no ready replica.", "Nodes", "constructor", "{0} of '{1}'", "ms", ""])
    expect(serverText(text)).toBe(text);
});

test("each is found by what the server says", async () => {
  await startLanguage("de");
  const texts = SERVER_TEXTS.map(({ id }) => id.replace("server: ", ""));
  expect(texts.length).toBeGreaterThan(80);
  expect(texts.filter((text) => serverText(text) === text)).toEqual([]);
});

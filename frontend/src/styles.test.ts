/** Every class of a style sheet is used beside it, and every class that is used is there. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "postcss";
import { expect, test } from "vitest";

const ROOT = new URL(".", import.meta.url);
const FILES = readdirSync(ROOT, { recursive: true, encoding: "utf8" });
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");

function classesOf(css: string): Set<string> {
  const found = new Set<string>();
  parse(css).walkRules(({ selector }) => {
    for (const [, name = ""] of selector.replaceAll(/:global\([^)]*\)/g, "").matchAll(/\.([A-Za-z_][\w-]*)/g)) found.add(name);
  });
  return found;
}

/** Names by style sheet; a name that is made at run time counts as none, so that its class must be named somewhere. */
function used(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of FILES.filter((name) => /\.tsx?$/.test(name))) {
    const text = read(path);
    for (const [, variable = "", from = ""] of text.matchAll(/import (\w+) from "([^"]+\.module\.css)"/g)) {
      const sheet = from.startsWith("@/") ? from.slice(2) : join(dirname(path), from);
      const names = found.get(sheet) ?? new Set<string>();
      for (const [, name = ""] of text.matchAll(new RegExp(`\\b${variable}\\["([\\w-]+)"\\]`, "g"))) names.add(name);
      found.set(sheet, names);
    }
  }
  return found;
}

const USED = used();

test.each(FILES.filter((name) => name.endsWith(".module.css")))("%s holds what is used of it, and nothing else", (sheet) => {
  expect([...classesOf(read(sheet))].toSorted()).toEqual([...(USED.get(sheet) ?? [])].toSorted());
});

test("every sheet that is imported is there", () => {
  expect([...USED.keys()].filter((sheet) => !FILES.includes(sheet))).toEqual([]);
});

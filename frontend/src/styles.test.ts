/** Every class of a style sheet is used beside it, and every class that is used is there; sizes and distances are tokens. */
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

const TOKENS = new Map<string, string>();
parse(read("components/tokens.css")).walkDecls(/^--(text|space)-/, ({ prop, value }) => void TOKENS.set(prop, value));
const SPACES = new Set([...TOKENS].flatMap(([name, value]) => (name.startsWith("--space-") ? [value] : [])));

/** Sizes of type that are numbers, and distances that have a token. */
function written(css: string): string[] {
  const found: string[] = [];
  parse(css).walkDecls(/^(font|font-size|((padding|margin)(-[a-z]+)*|(row-|column-)?gap))$/, (declaration) => {
    const { prop, value } = declaration;
    // why: of `500 12px/18px` only the first is a size.
    const sizes = prop === "font" ? value.replaceAll(/\/\s*[\d.]+px/g, "") : value;
    const numbers = sizes.match(/[\d.]+px/g) ?? [];
    if (numbers.some((number) => prop.startsWith("font") || SPACES.has(number))) found.push(`${prop}: ${value}`);
  });
  return found;
}

test.each(FILES.filter((name) => name.endsWith(".css")))("%s takes sizes of type and distances from the tokens", (sheet) => {
  expect(written(read(sheet))).toEqual([]);
});

test.each([
  ["font-size: 12px", 1],
  ["font: 500 12px/18px var(--font-mono)", 1],
  ["font: 500 var(--text-label)/18px var(--font-mono)", 0],
  ["font: 500 var(--text-label) / 18px var(--font-mono)", 0],
  ["padding: 9px 12px", 1],
  ["padding: 9px var(--space-6)", 0],
  ["margin-left: -8px", 1],
  ["row-gap: 0", 0],
  ["width: 12px", 0],
])("%s holds %d numbers that should be tokens", (declaration, count) => {
  expect(written(`.a { ${declaration}; }`)).toHaveLength(count);
});

test("every token of type and spacing is used, and every one that is used is there", () => {
  const sheets = FILES.filter((name) => name.endsWith(".css"))
    .map(read)
    .join("\n");
  const named = [...sheets.matchAll(/var\((--(?:text|space)-\w+)\)/g)].map(([, name]) => name);
  expect([...new Set(named)].toSorted()).toEqual([...TOKENS.keys()].toSorted());
});

test("a step of spacing is two pixels", () => {
  for (const [name, value] of TOKENS)
    if (name.startsWith("--space-")) expect(value, name).toBe(`${2 * Number(name.slice("--space-".length))}px`);
});

/** No regular expression of the studio takes more than linear time: it reads names, files, logs and configurations of others. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";

interface Found {
  readonly place: string;
  readonly regex: RegExp;
}

const MOST = 16_384;
const SLOW_MS = 60; // of MOST characters: linear takes less than one
const TRIES = 3; // another process may have had the processor
// Made at run time: where, and why that cannot hurt others.
const AT_RUN_TIME = [
  "features/deploy/config/raw-line.ts", // of a word of letters, digits and underscores
  "features/endpoints/log-buffer.ts", // a person's own, in this person's own browser
];
// Characters, where the text is bounded: names of files, and names that are cut before.
const SHORT: Record<string, number> = {
  "features/deploy/upload/accepted-files.ts": 255,
  "features/deploy/config/names.ts": 255,
};
const STAND_INS: Record<string, string> = { s: " \n", d: "0", w: "a_", S: "a", D: "a", W: "-", n: "\n", r: "\r", t: "\t" };

function expressions(): { found: Found[]; made: string[] } {
  const root = new URL(".", import.meta.url);
  const found: Found[] = [];
  const made: string[] = [];
  for (const path of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(path) || /\.test\.tsx?$/.test(path)) continue;
    const file = ts.createSourceFile(path, readFileSync(new URL(path, root), "utf8"), ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const [, pattern = "", flags = ""] = /^\/(.*)\/([a-z]*)$/s.exec(node.text) ?? [];
        const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        found.push({ place: `${path}:${line} ${node.text}`, regex: new RegExp(pattern, flags) });
      }
      if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp") made.push(path);
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return { found, made: made.toSorted() };
}

/** Texts of the pattern's own characters and of what its classes stand for, alone and in pairs. */
function* pumps({ source }: RegExp): Generator<(length: number) => string> {
  const escaped = [...source.matchAll(/\\(.)/g)].map(([, letter = ""]) => STAND_INS[letter] ?? letter).join("");
  const plain = source.replace(/\\(.)/g, "").replace(/[[\](){}|^$*+?]/g, "");
  const letters = [...new Set(`${escaped}${plain}a`)].slice(0, 12);
  const bodies = new Set([...letters, ...letters.flatMap((one) => letters.map((two) => one + two))]);
  for (const lead of ["", letters[0] ?? ""])
    for (const body of bodies) for (const end of ["\0", "!\n"]) yield (length) => (lead + body.repeat(length)).slice(0, length) + end;
}

function took(regex: RegExp, text: string): number {
  const began = performance.now();
  text.replace(regex, "");
  return performance.now() - began;
}

/** Milliseconds of the worst text. Lengths grow slowly at first, as some patterns double with each character. */
function slowest(regex: RegExp, most: number): number {
  let worst = 0;
  for (const text of pumps(regex)) {
    for (const length of [20, 24, 28, 32, 40, 64, 256, 1024, 4096, MOST]) {
      if (length > most) break;
      let ms = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < TRIES && ms > SLOW_MS; tries += 1) ms = Math.min(ms, took(regex, text(length)));
      worst = Math.max(worst, ms);
      if (worst > SLOW_MS) return worst;
      if (length === 4096 && ms < 0.5) break;
    }
  }
  return worst;
}

const { found: FOUND, made: MADE } = expressions();

test("every expression is known", () => {
  expect(FOUND.length).toBeGreaterThan(50);
  expect(MADE).toEqual(AT_RUN_TIME);
});

test.each(FOUND)("$place takes linear time", ({ place, regex }) => {
  const path = place.split(":")[0] ?? "";
  expect(slowest(regex, SHORT[path] ?? MOST)).toBeLessThan(SLOW_MS);
});

test.each([/\s*$/, /[a-z]+@/, /"(?:\\.|[^"\\])*"/, /(a|a)*b/, /\s*(#.*)?$/])("the measure tells that %s is slow", (regex) =>
  expect(slowest(regex, MOST)).toBeGreaterThan(SLOW_MS),
);

/** What the compiler cannot hold: answers of the server have the types of docs/openapi.json, and no other. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const ROOT = new URL(".", import.meta.url);

// Where bytes travel that docs/openapi.json does not describe, or that need more than `fetch` tells.
const OWN_TRANSPORT = [
  "api/client.ts",
  "features/deploy/upload/upload-server.ts", // the progress of a chunk
  "features/models/files/read-range.ts", // a part of a file
  "features/overview/components/first-steps.tsx", // the sample that comes with the studio
];
const METHODS = new Set(["GET", "PUT", "POST", "PATCH", "DELETE"]);

interface Found {
  calls: number;
  transports: Set<string>;
  casts: string[];
}

/** `answer(…)`, `everyPage(…)`, `api.GET(…)`, and a body that was read past them: `response.json()`. */
function isAnswer(node: ts.Node): boolean {
  if (ts.isAwaitExpression(node) || ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return isAnswer(node.expression);
  if (ts.isPropertyAccessExpression(node)) return isAnswer(node.expression);
  if (!ts.isCallExpression(node)) return false;
  const called = node.expression;
  if (ts.isIdentifier(called)) return called.text === "answer" || called.text === "everyPage";
  return (
    ts.isPropertyAccessExpression(called) &&
    (called.name.text === "json" || (called.expression.getText() === "api" && METHODS.has(called.name.text)))
  );
}

function look(path: string, text: string, found: Found): void {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    const told = () => `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${node.getText().slice(0, 60)}`;
    if (ts.isAsExpression(node) && node.type.getText() !== "const" && (path.startsWith("api/") || isAnswer(node.expression)))
      found.casts.push(told());
    if (ts.isCallExpression(node) && isAnswer(node)) {
      found.calls += 1;
      if (node.typeArguments) found.casts.push(told());
    }
    if (ts.isCallExpression(node) && /^(globalThis\.|window\.)?fetch$/.test(node.expression.getText())) found.transports.add(path);
    if (ts.isNewExpression(node) && node.expression.getText() === "XMLHttpRequest") found.transports.add(path);
    ts.forEachChild(node, visit);
  };
  visit(file);
}

function sources(): Found {
  const found: Found = { calls: 0, transports: new Set(), casts: [] };
  for (const path of readdirSync(ROOT, { recursive: true, encoding: "utf8" })) {
    if (/\.tsx?$/.test(path) && !/\.(test\.tsx?|d\.ts)$/.test(path)) look(path, readFileSync(new URL(path, ROOT), "utf8"), found);
  }
  return found;
}

describe("answers of the server", () => {
  const found = sources();

  test("are asked for by the typed client alone", () => {
    expect(found.calls).toBeGreaterThan(100);
    expect([...found.transports].toSorted()).toEqual(OWN_TRANSPORT);
  });

  test("are never cast", () => expect(found.casts).toEqual([]));

  test.each([
    ["const a = (await answer(api.GET(path))) as Endpoint;", "features/a.ts"],
    ["const a = answer<Endpoint>(api.GET(path));", "features/a.ts"],
    ["const a = (await api.GET(path)).data as Endpoint;", "features/a.ts"],
    ["const a = await (await fetch(path)).json() as Endpoint;", "features/a.ts"],
    ["export const name = (row: Row) => row.name as Name;", "api/a.ts"],
  ])("%s would be told", (text, path) => {
    const one: Found = { calls: 0, transports: new Set(), casts: [] };
    look(path, text, one);
    expect(one.casts).toHaveLength(1);
  });
});

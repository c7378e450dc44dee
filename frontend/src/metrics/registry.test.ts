/** One registry of metrics: it says what the server says, and nobody else says anything. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { GATEWAY } from "./gateway";
import { GPU, HOST } from "./node";
import { COMBINED, helpOf, METRICS, type MetricName, metricText, unitOf } from "./registry";
import { RUNTIME, SIZED } from "./runtime";
import { KEY_FIGURES } from "./views";

// why not an import: the compiler would make types of all of its 25,000 lines.
const DOCUMENT = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
const SERIES: Record<string, { measured: string; window_s: number }> = DOCUMENT.components.schemas.Series["x-series"];

describe("what the server delivers", () => {
  const groups = { gateway: GATEWAY, runtime: { ...RUNTIME, ...SIZED }, node: { ...HOST, ...GPU } };
  test.each(
    Object.entries(groups).flatMap(([measured, metrics]) =>
      Object.entries(metrics).map(([name, info]) => [name, measured, info.window] as const),
    ),
  )("%s comes from the %s, over %d s", (name, measured, window) => expect(SERIES[name]).toEqual({ measured, window_s: window }));
});

describe("a panel of several metrics", () => {
  test.each(Object.entries(COMBINED))("%s has one unit and one window, and lines that are told apart", (_, { metrics }) => {
    expect(new Set(metrics.map((name) => `${unitOf(name)} ${METRICS[name].window}`)).size).toBe(1);
    expect(new Set(metrics.map((name) => METRICS[name].color)).size).toBe(metrics.length);
    expect(new Set(metrics.map((name) => METRICS[name].label)).size).toBe(metrics.length);
  });
});

test("names in addresses are there once", () => {
  const ids = Object.values(METRICS).flatMap((info) => ("id" in info ? [info.id] : []));
  expect(new Set(ids).size).toBe(ids.length);
});

test.each([
  ["p95_us", 1_500, "1.50 ms"],
  ["error_rate", 0.012, "1.2 %"],
  ["gpu{index}_temperature", 61, "61 °C"],
  ["memory_bytes", null, "–"],
] as const)("%s of %d is %s", (name, value, text) => expect(metricText(name, value).replaceAll("\u00a0", " ")).toBe(text));

test("help says its window, and what is made of several replicas unless each stands alone", () => {
  expect(helpOf("request_rate")).toMatch(/Summed over replicas\. Over 2 s, or over one point where that is longer\.$/);
  expect(helpOf("request_rate", true)).not.toMatch(/Summed/);
  expect(helpOf("latency")).toMatch(/Merged over replicas\. Over 5 s/);
  expect(helpOf("pending")).not.toMatch(/Over/);
});

const ROOT = new URL("..", import.meta.url);
/** Where units and colours are made; what they are of is the registry's. */
const MAKERS = new Set(["components/format.ts", "components/charts/units.ts", "components/charts/palette.ts"]);
const UNITS: ReadonlySet<string> = new Set(Object.keys(METRICS).map((name) => unitOf(name as MetricName)));
/** Names of metrics that are nothing else: `memory_bytes`, for instance, is also a limit. */
const FIELDS: ReadonlySet<string> = new Set(KEY_FIGURES);
const FORMATTERS = /^(count|duration|rate|bytes|percent|decimal|value)(Parts|Text)?$/;

/** What a file says of a metric on its own: a unit, a colour, a window, how it is computed. */
function told(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const tell = (node: ts.Node, what: string) =>
    found.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${what}: ${node.getText().slice(0, 60)}`);
  const names = (node: ts.Node): boolean =>
    (ts.isIdentifier(node) && FIELDS.has(node.text)) || (ts.forEachChild(node, (child) => names(child) || undefined) ?? false);
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) || ts.isJsxAttribute(node)) {
      const value = node.initializer;
      if (node.name.getText() === "unit" && value && ts.isStringLiteral(value) && UNITS.has(value.text)) tell(node, "a unit");
    }
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node) ||
      ts.isJsxText(node)
    ) {
      if (node.text.endsWith("/s") && UNITS.has(node.text)) tell(node, "a unit");
      if (/^s[1-6]$/.test(node.text)) tell(node, "a colour");
      if (/\b(over|last) \d+ s\b/i.test(node.text)) tell(node, "a window");
      if (/\bnv_\w/.test(node.text)) tell(node, "how it is computed");
    }
    if (ts.isCallExpression(node) && FORMATTERS.test(node.expression.getText()) && node.arguments.some(names)) tell(node, "a unit");
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

describe("no other file", () => {
  test("says a unit, a colour, a window or a formula of a metric", () => {
    const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
      (path) => /\.tsx?$/.test(path) && !/\.(test\.tsx?|d\.ts)$/.test(path) && !path.startsWith("metrics/") && !MAKERS.has(path),
    );
    expect(files.length).toBeGreaterThan(300);
    expect(files.flatMap((path) => told(path, readFileSync(new URL(path, ROOT), "utf8")))).toEqual([]);
    // why so long: it parses all sources, which takes its time where other work shares the processors
  }, 60_000);

  test.each([
    ["a unit", 'const panel = { title, unit: "percent" };'],
    ["a unit", 'const chart = <LiveChart unit="duration" />;'],
    ["a unit", 'const text = rate(value, "req/s");'],
    ["a unit", "const text = durationParts(row.live.p95_us);"],
    ["a unit", "const text = percent(endpoint.live.error_rate ?? 0);"],
    ["a colour", 'const line = { key, color: "s5" };'],
    ["a window", 'const help = "Quantiles, over 2 s.";'],
    ["how it is computed", "const help = `Increase of nv_inference_count`;"],
  ])("tells %s: %s", (what, text) => expect(told("a.tsx", text)).toEqual([expect.stringContaining(` ${what}: `)]));

  test.each(["const unit = metricParts(name, value).unit;", "const text = bytes(file.size);", 'const range = "Last 5 min";'])(
    "may say: %s",
    (text) => expect(told("a.tsx", text)).toEqual([]),
  );
});

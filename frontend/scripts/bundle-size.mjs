/** Compares the build with its budgets (gzip, level 9): first load, any lazy route, fonts. Fails above them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BUDGET = { js: 200, css: 30, route: 180, fonts: 100 };
const dist = process.argv[2] ?? "dist";
const assets = join(dist, "assets");
const kilobytes = (bytes) => bytes / 1000;
const gzipped = (file) => gzipSync(readFileSync(join(assets, file)), { level: 9 }).length;
const html = readFileSync(join(dist, "index.html"), "utf8");
const named = [...html.matchAll(/\/assets\/([\w.-]+)/g)].map((match) => match[1]);
const files = readdirSync(assets);

const importsOf = (file) =>
  [...readFileSync(join(assets, file), "utf8").matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)].map((match) => match[1]);

/** A chunk with everything that it loads statically. */
function closure(entries) {
  const seen = new Set();
  const queue = [...entries];
  while (queue.length > 0) {
    const file = queue.pop();
    if (seen.has(file) || !files.includes(file)) continue;
    seen.add(file);
    queue.push(...importsOf(file));
  }
  return seen;
}

// The entry loads the studio itself as soon as it knows the language.
const first = closure([...named.filter((file) => file.endsWith(".js")), ...files.filter((file) => /^studio-[\w-]+\.js$/.test(file))]);
const total = (list) => [...list].reduce((sum, file) => sum + gzipped(file), 0);
const firstJs = kilobytes(total(first));
const firstCss = kilobytes(total(named.filter((file) => file.endsWith(".css"))));
const routes = files
  .filter((file) => file.endsWith(".js") && !first.has(file))
  .map((file) => ({ file, size: kilobytes(total([...closure([file])].filter((part) => !first.has(part)))) }))
  .sort((a, b) => b.size - a.size);
// Browsers load a subset of a font only when its characters occur: Latin is what is always loaded.
const fonts = kilobytes(
  files.filter((file) => /-latin-wght-normal.*\.woff2$/.test(file)).reduce((sum, file) => sum + readFileSync(join(assets, file)).length, 0),
);

const rows = [
  ["first load, JavaScript", firstJs, BUDGET.js],
  ["first load, style", firstCss, BUDGET.css],
  [`largest lazy route (${routes[0]?.file ?? "none"})`, routes[0]?.size ?? 0, BUDGET.route],
  ["fonts, Latin", fonts, BUDGET.fonts],
];
let failed = false;
for (const [name, size, budget] of rows) {
  const over = size > budget;
  failed ||= over;
  process.stdout.write(`${over ? "OVER" : "ok  "} ${name}: ${size.toFixed(1)} kB of ${budget} kB\n`);
}
for (const { file, size } of routes.slice(1, 6)) process.stdout.write(`     ${file}: ${size.toFixed(1)} kB\n`);
process.exitCode = failed ? 1 : 0;

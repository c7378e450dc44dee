/**
 * Looks at the studio: serves the build with the made-up installation, takes pictures in both themes and of a window as
 * narrow as a phone, and reports console errors, axe findings and pages that are wider than the window; the same for what
 * opens over them. Usage: node scripts/shots.mjs OUT [page or overlay ...]
 * LOOKS=light,dark,narrow, WIDTH, HEIGHT, LANES=3, FULL=1, LOCALE=de-DE, CHROMIUM=path.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright";
import { preview } from "vite";
import { close, FLOATING, open, OVERLAYS } from "./overlays.mjs";

/** Every page; a second element is the role that looks at it. */
const ROUTES = {
  overview: "/",
  empty: "/?empty",
  "forbidden-users": ["/settings/users", "viewer"],
  "forbidden-join": ["/nodes/join", "viewer"],
  "viewer-node": ["/nodes/node-a1", "viewer"],
  models: "/models",
  version: "/models/digits/versions/3",
  "version-config": "/models/digits/versions/3/config",
  "version-files": "/models/digits/versions/3/files",
  "version-onnx": "/models/digits/versions/3/files?path=digits%2F1%2Fmodel.onnx",
  "version-npy": "/models/digits/versions/3/files?path=digits%2Fmean.npy",
  "version-compare": "/models/digits/versions/3/compare",
  "version-usage": "/models/digits/versions/3/usage",
  "version-activity": "/models/digits/versions/3/activity",
  environments: "/environments",
  environment: "/environments/sklearn-env",
  "viewer-environment": ["/environments/sklearn-env", "viewer"],
  endpoints: "/endpoints",
  endpoint: "/endpoints/resnet50-prod/overview",
  metrics: "/endpoints/resnet50-prod/metrics",
  compare: "/metrics?ids=resnet50-prod/blue,resnet50-prod/green,digits/blue",
  "compare-nothing": "/metrics",
  "metrics-replicas": "/endpoints/resnet50-prod/metrics?per=replica",
  "metrics-replicas-long-ago": "/endpoints/resnet50-prod/metrics?per=replica&range=1000000000..1000000600",
  "metrics-week": "/endpoints/resnet50-prod/metrics?range=7d",
  deployments: "/endpoints/resnet50-prod/deployments",
  consume: "/endpoints/resnet50-prod/consume",
  keys: "/endpoints/resnet50-prod/keys",
  requests: "/endpoints/resnet50-prod/requests",
  pipeline: "/endpoints/sentiment/pipeline",
  "pipeline-one-model": "/endpoints/digits/pipeline",
  load: "/endpoints/resnet50-prod/load",
  tune: "/endpoints/resnet50-prod/load?lab=tune",
  "viewer-tune": ["/endpoints/resnet50-prod/load?lab=tune", "viewer"],
  experiment: "/endpoints/resnet50-prod/experiment",
  "experiment-alone": "/endpoints/digits/experiment",
  data: "/endpoints/resnet50-prod/data",
  logs: "/endpoints/resnet50-prod/logs",
  events: "/endpoints/resnet50-prod/events",
  settings: "/endpoints/resnet50-prod/settings",
  console: "/test?endpoint=resnet50-prod",
  "console-tab": "/endpoints/resnet50-prod/test",
  "viewer-deployments": ["/endpoints/resnet50-prod/deployments", "viewer"],
  "viewer-config": ["/models/digits/versions/3/config", "viewer"],
  "viewer-console": ["/endpoints/resnet50-prod/test", "viewer"],
  "deployer-node": ["/nodes/node-a1", "deployer"],
  "operator-storage": ["/settings/storage", "operator"],
  "viewer-keys": ["/endpoints/resnet50-prod/keys", "viewer"],
  "viewer-endpoint-settings": ["/endpoints/resnet50-prod/settings", "viewer"],
  "degraded-deployments": "/endpoints/sentiment/deployments",
  nodes: "/nodes",
  heat: "/nodes?status=online",
  node: "/nodes/node-a1",
  gpus: "/nodes/node-a1/gpus",
  replicas: "/nodes/node-a1/models",
  nodecache: "/nodes/node-a1/cache",
  nodelogs: "/nodes/node-a1/logs",
  join: "/nodes/join",
  capacity: "/capacity",
  "capacity-empty": "/capacity?empty",
  "capacity-member": ["/capacity", "member"],
  "wizard-upload": "/deploy/new",
  "wizard-configure": "/deploy/new?model=digits&version=3&step=configure",
  "wizard-placement": "/deploy/new?model=digits&version=3&step=placement",
  "wizard-deploy": "/deploy/new?model=digits&version=3&step=deploy",
  operations: "/operations",
  "operations-days": "/operations?kind=deploy&when=2026-01-01..2099-12-31",
  operation: "/deploy/51ad90c4-bb",
  activity: "/activity",
  alerts: "/alerts",
  "alert-channels": "/alerts?tab=channels",
  "alert-rules": "/alerts?tab=rules",
  event: "/activity?event=895",
  system: "/system",
  profile: "/settings/profile",
  tokens: "/settings/tokens",
  users: "/settings/users",
  "service-accounts": "/settings/service-accounts",
  types: "/settings/instance-types",
  prices: "/settings/prices",
  "viewer-prices": ["/settings/prices", "viewer"],
  storage: "/settings/storage",
  about: "/settings/about",
  login: "/login",
  missing: "/nothing/here",
  "missing-tab": "/endpoints/resnet50-prod/nothing",
  "missing-thing": "/endpoints/gone/overview",
};
const AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"];
/** What is left to ask of the same page in other colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

const [out = "shots", ...wanted] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const height = Number(process.env.HEIGHT ?? 900);
const wide = { width: Number(process.env.WIDTH ?? 1440), height };
/** How a page is looked at, one after another on one visit: what it costs is to load it. */
const LOOKS = {
  light: { size: wide, scheme: "light", tags: AXE_TAGS },
  dark: { size: wide, scheme: "dark", tags: COLOUR_RULES },
  narrow: { size: { width: 360, height }, scheme: "light", tags: AXE_TAGS },
};
const looks = (process.env.LOOKS ?? Object.keys(LOOKS).join(",")).split(",");

process.env.VITE_MOCK = "1";
const server = await preview({ preview: { port: 0, host: "127.0.0.1" }, build: { outDir: "dist-mock" }, logLevel: "error" });
const address = server.httpServer.address();
const base = `http://127.0.0.1:${address.port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
  ],
});
/** How many look at once. A page mostly waits for itself to come to rest, which more can do beside one another. */
const lanes = Number(process.env.LANES ?? 3);
let problems = 0;

/** A page of its own in a browser context of its own, that knows as whom it looks. */
async function lane() {
  const page = await browser.newPage({ viewport: wide, reducedMotion: "reduce", locale: process.env.LOCALE ?? "en-US" });
  page.setDefaultTimeout(60_000); // a busy machine is slow, which says nothing about a page
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      problems += 1;
      process.stdout.write(`console ${message.type()} on ${page.url()}: ${message.text()}\n`);
    }
  });
  page.on("pageerror", (error) => {
    problems += 1;
    process.stdout.write(`page error on ${page.url()}: ${error.message}\n`);
  });
  return { page, role: undefined };
}

async function visit(at, path, role, first = looks[0]) {
  const { page } = at;
  await set(page, LOOKS[first]);
  if (at.role !== role) {
    await page.goto(`${base}/nothing`, { waitUntil: "commit" });
    await page.evaluate((as) => localStorage.setItem("mock.role", as), role);
    at.role = role;
  }
  await page.goto(base + path, { waitUntil: "load" });
  await page.waitForSelector("h1");
  await page.waitForLoadState("networkidle");
}

/** The window and the colours of a look. A page is drawn anew, charts and all, a frame after its window has another size. */
async function set(page, { size, scheme }) {
  await page.emulateMedia({ colorScheme: scheme });
  if (page.viewportSize().width === size.width) return;
  await page.setViewportSize(size);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** A picture in each look, and what is wrong with what it shows, or with the parts of it that `within` names. */
async function look(page, name, { ways = looks, within = "html", rules = {} } = {}) {
  for (const way of ways) {
    const { scheme, tags } = LOOKS[way];
    await set(page, LOOKS[way]);
    await page.waitForFunction(settled, scheme);
    await page.screenshot({ path: join(out, `${name}-${way}.png`), fullPage: process.env.FULL === "1" });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) {
      problems += 1;
      process.stdout.write(`${name} ${way}: ${over} px wider than the window\n`);
    }
    if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
    const found = await page.evaluate(([within, options]) => globalThis.axe.run(within, options), [within, { runOnly: tags, rules }]);
    for (const violation of found.violations) {
      problems += 1;
      const where = violation.nodes
        .slice(0, 3)
        .map((node) => `${node.target.join(" ")} ${node.any[0]?.message ?? ""}`)
        .join("; ");
      process.stdout.write(`axe ${name} ${way}: ${violation.id} x${violation.nodes.length}: ${where}\n`);
    }
  }
}

/** In the page: it has the scheme's colours, and none that are on their way from one to another. */
function settled(scheme) {
  return (
    document.documentElement.dataset.mantineColorScheme === scheme &&
    document.getAnimations().every((one) => one.playState !== "running" || one.effect.getTiming().iterations === Infinity)
  );
}

const asked = (name) => wanted.length === 0 || wanted.includes(name);

/** A page, loaded as the role that looks at it. */
function ofRoute([name, route]) {
  const [path, role] = Array.isArray(route) ? route : [route, ""];
  return async (at) => {
    await visit(at, path, role);
    await at.page.waitForTimeout(name === "endpoint" || name.startsWith("metrics") ? 1800 : 500);
    await look(at.page, name);
  };
}

/** As narrow as a phone overlays look the same: those of that width alone are looked at so. */
const looksAt = (only) => looks.filter((way) => (way === "narrow") === (only === "narrow"));

/** What opens over one page. */
function ofOverlays({ path, opened, only }) {
  const ways = looksAt(only);
  return async (at) => {
    await visit(at, path, "", ways[0]);
    for (const [name, steps] of Object.entries(opened).filter(([name]) => asked(name))) {
      await open(at.page, steps);
      // why without landmarks: what opens over a page is in none of them, and is left before one goes on to another.
      await look(at.page, name, { ways, within: FLOATING, rules: { region: { enabled: false } } });
      await close(at.page);
    }
  };
}

const shown = ({ opened, only }) => looksAt(only).length > 0 && Object.keys(opened).some(asked);

// Overlays first: some of their pages take longest, and should not be what all wait for in the end.
const work = [
  ...OVERLAYS.filter(shown).map(ofOverlays),
  ...Object.entries(ROUTES)
    .filter(([name]) => asked(name))
    .map(ofRoute),
];

async function lookOn() {
  const at = await lane();
  for (let next = work.shift(); next !== undefined; next = work.shift()) await next(at);
}

try {
  await Promise.all(Array.from({ length: Math.min(lanes, work.length) }, lookOn));
} finally {
  await browser.close();
  await server.close();
}
process.stdout.write(`${problems} problems\n`);
process.exitCode = problems > 0 ? 1 : 0;

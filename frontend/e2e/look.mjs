/**
 * Walks the wizard and the console with a mocked server in real Chromium, in light and dark: screenshots for the eye, axe and
 * the browser's own complaints for the exit status.
 *
 *   npm run build && node e2e/look.mjs OUT_DIR [DIST_DIR]
 */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import * as say from "./fixtures.mjs";
import { install, newState } from "./mock-server.mjs";
import { serve } from "./static-server.mjs";

const [, , out = "e2e-shots", dist = "dist"] = process.argv;
mkdirSync(out, { recursive: true });
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const failures = [];

const server = await serve(dist);
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

async function open(scheme, state, path, viewport = { width: 1440, height: 900 }) {
  const page = await browser.newPage({ viewport, colorScheme: scheme, reducedMotion: "reduce" });
  page.setDefaultTimeout(10_000);
  page.on("console", (message) => {
    const expected = /status of 404|ERR_CONNECTION_RESET/.test(message.text());
    if (message.type() === "error" && !expected) failures.push(`${path}: console: ${message.text()}`);
  });
  page.on("pageerror", (error) => failures.push(`${path}: ${error.message}`));
  await install(page, state);
  await page.goto(server.url + path);
  return page;
}

async function shoot(page, name) {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(out, `${name}.png`) });
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(
    (tags) => window.axe.run(document, { runOnly: { type: "tag", values: tags } }),
    TAGS,
  );
  for (const { id, nodes } of violations)
    failures.push(
      `${name}: axe ${id}: ${nodes
        .map((node) => `${node.target} ${node.failureSummary?.split("\n").at(-1)}`)
        .slice(0, 3)
        .join(" | ")}`,
    );
}

function check(condition, words) {
  if (!condition) failures.push(words);
}

async function uploadStory(scheme) {
  const state = newState();
  state.chunkSize = 1024 * 1024;
  state.noEndpoint = true;
  const page = await open(scheme, state, "/deploy/new");
  await page.getByText("Drop a model here").waitFor();
  await shoot(page, `upload-${scheme}`);
  await page.getByLabel("Model file").setInputFiles({ name: "net.pt", mimeType: "x/y", buffer: Buffer.from("x") });
  await page.getByText("TorchScript files are not served yet").waitFor();
  await shoot(page, `upload-refused-${scheme}`);
  let release;
  state.hold = new Promise((resolve) => (release = resolve));
  await page
    .getByLabel("Model file")
    .setInputFiles({ name: "resnet50-v2.onnx", mimeType: "x/y", buffer: Buffer.alloc(3_500_000, 7) });
  await page.getByRole("progressbar", { name: "Upload" }).waitFor();
  await shoot(page, `uploading-${scheme}`);
  state.dropChunks = 2;
  state.hold = null;
  release();
  await page.getByText("Connection lost, trying again").waitFor();
  await shoot(page, `upload-lost-${scheme}`);
  await page.getByText("ONNX opset 17").first().waitFor();
  check(state.stored === 3_500_000, `the upload stored ${state.stored} bytes`);
  check(state.completed?.length === 64, "the upload was completed without a digest");
  await shoot(page, `inspect-${scheme}`);
  await page.getByRole("button", { name: "Continue to configuration" }).click();
  await page.getByText("64 is larger than max_batch_size (32)").first().waitFor();
  await page.getByRole("button", { name: "Remove 64" }).waitFor();
  await shoot(page, `configure-${scheme}`);
  await page.getByText("Diff with auto-complete").click();
  await page.locator(".cm-deletedChunk").first().waitFor();
  await shoot(page, `configure-diff-${scheme}`);
  await page.getByText("Text", { exact: true }).click();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("input {");
  await page.getByText(/Fix line \d+ to use the form/).waitFor();
  await shoot(page, `configure-broken-${scheme}`);
  for (let index = 0; index < 7; index += 1) await page.keyboard.press("Backspace");
  await page.getByRole("button", { name: "Remove 64" }).click();
  await page.getByRole("button", { name: "Set 1,000 µs" }).click();
  await page.getByText("No problems. The configuration fits the model.").waitFor();
  await page.getByRole("textbox", { name: "Max batch size" }).fill("64");
  await page.locator(".cm-content").getByText("64", { exact: true }).waitFor();
  await shoot(page, `configure-good-${scheme}`);
  await page.reload();
  await page.getByText("No problems. The configuration fits the model.").waitFor();
  check((await page.getByRole("textbox", { name: "Max batch size" }).inputValue()) === "64", "a reload lost the draft");
  await page.getByRole("button", { name: "Continue to deployment" }).click();
  await page.getByRole("button", { name: "Deploy blue at 100 %" }).waitFor();
  await shoot(page, `deploy-${scheme}`);
  await page.getByRole("button", { name: "Deploy blue at 100 %" }).click();
  await page.getByText("Load the model").waitFor();
  await page.getByText("onnxruntime: 2 instances").first().waitFor();
  check(
    state.created[0]?.configs?.resnet50?.includes("max_batch_size: 64  # fits the small boxes"),
    "the edited configuration was not sent with its comment",
  );
  check(
    state.deployed?.traffic === 100 && state.deployed?.endpoint === "resnet50",
    `deployed ${JSON.stringify(state.deployed)}`,
  );
  await shoot(page, `operation-running-${scheme}`);
  state.operation = say.succeeded();
  await page.getByText("resnet50 is live").waitFor();
  await page.getByText("curl --cacert").waitFor();
  await shoot(page, `operation-done-${scheme}`);
  await page.close();
  const second = newState();
  second.operation = say.failed();
  const failedPage = await open(scheme, second, "/deploy/op1");
  await failedPage.getByRole("heading", { name: /ONNX Runtime refused/ }).waitFor();
  await shoot(failedPage, `operation-failed-${scheme}`);
  await failedPage.close();
}

async function consoleStory(scheme) {
  const state = newState();
  const page = await open(scheme, state, "/test?endpoint=digits");
  await page.getByText("scale_0.tmp_1").first().waitFor();
  await shoot(page, `console-empty-${scheme}`);
  await page.getByRole("button", { name: "Fill with sample" }).click();
  await page.getByRole("menuitem", { name: "Random values" }).click();
  await page.getByLabel("a/b:0", { exact: true }).fill("9223372036854775807");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Softmax").waitFor();
  const big = state.inferred?.inputs.find((input) => input.name === "a/b:0");
  check(JSON.stringify(big?.data) === '{"b64":"/////////38="}', `64-bit value went as ${JSON.stringify(big?.data)}`);
  await page.getByRole("switch", { name: "Softmax" }).click();
  await shoot(page, `console-result-${scheme}`);
  await page.getByText("JSON", { exact: true }).first().click();
  await page.getByLabel("Request as JSON").waitFor();
  await shoot(page, `console-json-${scheme}`);
  await page.getByText("Form", { exact: true }).click();
  state.infer = "error";
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText("Verbatim answer").or(page.getByText("unexpected shape for input")).first().waitFor();
  await shoot(page, `console-error-${scheme}`);
  state.infer = "drop";
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText("Sent, result unknown").waitFor();
  await shoot(page, `console-lost-${scheme}`);
  await page.close();
  const none = newState();
  none.endpoint = { ...say.endpoint, deployments: [{ ...say.deployment, replicas: [] }] };
  const waiting = await open(scheme, none, "/test?endpoint=digits");
  await waiting.getByText("No deployment of digits is ready").waitFor();
  await shoot(waiting, `console-not-ready-${scheme}`);
  await waiting.close();
}

try {
  for (const scheme of ["light", "dark"]) {
    for (const story of [uploadStory, consoleStory]) {
      await story(scheme).catch((error) =>
        failures.push(`${story.name} ${scheme}: ${error.message.split("\n").slice(0, 14).join(" ")}`),
      );
    }
  }
} finally {
  await browser.close();
  server.close();
}
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.stdout.write(failures.length === 0 ? "all good\n" : `${failures.length} failures\n`);
process.exitCode = failures.length === 0 ? 0 : 1;

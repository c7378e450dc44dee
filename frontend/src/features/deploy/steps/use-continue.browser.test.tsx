import { Button } from "@mantine/core";
import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { startTryLoad } from "@/api/placement";
import { show } from "@/testing/show";
import type { DeploySource, SourceModel } from "../config/source";
import type { Tried } from "../draft/draft";
import { TryLoadCard } from "./try-load-card";
import { useContinue } from "./use-continue";
import { useTryLoad } from "./use-try-load";

const TEXT = 'name: "digits"\nbackend: "onnxruntime"\n';
const ON_GPU = `${TEXT}instance_group [ { kind: KIND_GPU } ]\n`;
const MODEL: SourceModel = {
  name: "digits",
  backend: "onnxruntime",
  platform: "",
  maxBatchSize: 8,
  inputs: [],
  outputs: [],
  startText: TEXT,
  completeText: TEXT,
  provenance: {},
  written: true,
  opset: null,
  producer: null,
  warnings: [],
  files: [],
  versions: [1],
  proposal: null,
  decoupled: false,
};

const source = (model: string): DeploySource => ({
  kind: "version",
  filename: "model.onnx",
  size: 1_000,
  uploadId: null,
  registered: { model, version: 1, revision: null },
  models: [MODEL],
  configErrors: 0,
  lineage: null,
  code: { state: "none", reasons: [], approved_by: null, approved_at: null },
});
const DIGITS = source("digits");
const UNAPPROVED = source("unapproved");

function Step({ of = DIGITS, instanceType = "" }: { of?: DeploySource; instanceType?: string }) {
  const [texts, setTexts] = useState([TEXT]);
  const [tried, setTried] = useState<Tried | null>(null);
  const [gone, setGone] = useState<string[]>([]);
  const [line, setLine] = useState<number | null>(null);
  const trying = useTryLoad(of, { texts, instanceType }, tried, setTried);
  const going = useContinue(trying, (untried) => setGone((old) => [...old, untried ?? "tried or skipped"]));
  return (
    <>
      <TryLoadCard
        trying={trying}
        models={[{ name: "digits", text: texts[0] ?? "" }]}
        blocked={false}
        onGoTo={(culprit) => setLine(culprit.line)}
      />
      <Button onClick={() => setTexts([ON_GPU])}>On a GPU</Button>
      <Button onClick={() => setTexts([TEXT])}>On a CPU</Button>
      <Button onClick={going.press}>Continue</Button>
      <Button onClick={going.skip}>Skip</Button>
      <Button
        onClick={() => {
          going.press();
          setTexts([ON_GPU]);
        }}
      >
        Continue and edit
      </Button>
      <Button
        onClick={() => {
          going.press();
          going.skip();
        }}
      >
        Continue and skip
      </Button>
      <p>{going.waiting ? "waits" : going.refused ? "refused" : "rests"}</p>
      <p>Trial: {tried?.id ?? "none"}</p>
      <p>Line: {line ?? "none"}</p>
      <p>Gone on: {gone.length === 0 ? "no" : gone.join(", ")}</p>
    </>
  );
}

const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
const trial = async () => page.getByText(/^Trial: /).element().textContent;

test("what loads is gone on with by itself, and not tried again", async () => {
  await show(<Step />);
  await press("Continue");
  await expect.element(page.getByText("waits")).toBeVisible();
  await expect.element(page.getByText("Gone on: tried or skipped")).toBeVisible();
  await expect.element(page.getByText(/^It loads on gpu-a1/)).toBeVisible();
  const first = await trial();
  await press("Continue");
  await expect.element(page.getByText("Gone on: tried or skipped, tried or skipped")).toBeVisible();
  expect(await trial()).toBe(first);
});

test("what does not load is told with its line, stays so, and another text is tried anew", async () => {
  await show(<Step />);
  await press("On a GPU");
  await press("Continue");
  await expect.element(page.getByRole("alert")).toHaveTextContent(/The model does not load.*KIND_GPU.*line 3/);
  await expect.element(page.getByText("refused")).toBeVisible();
  await expect.element(page.getByText("Gone on: no")).toBeVisible();
  await press("line 3");
  await expect.element(page.getByText("Line: 3")).toBeVisible();
  const first = await trial();
  await press("On a CPU");
  await expect.element(page.getByText("rests")).toBeVisible();
  await press("On a GPU");
  await expect.element(page.getByText("refused")).toBeVisible();
  expect(await trial()).toBe(first);
  await press("On a CPU");
  await press("Continue");
  await expect.element(page.getByText("Gone on: tried or skipped")).toBeVisible();
  expect(await trial()).not.toBe(first);
});

test("who edits meanwhile stays, and who skips goes on", async () => {
  await show(<Step />);
  await press("Continue");
  await expect.element(page.getByText(/^gpu-a1: /)).toBeVisible();
  await press("On a GPU");
  await expect.element(page.getByText("rests")).toBeVisible();
  await press("On a CPU");
  await expect.element(page.getByText("It was canceled.")).toBeVisible();
  await expect.element(page.getByText("Gone on: no")).toBeVisible();
  await press("Continue");
  await press("Skip");
  await expect.element(page.getByText("Gone on: tried or skipped")).toBeVisible();
});

test.each([
  ["code that nobody approved", <Step key="code" of={UNAPPROVED} />, "Gone on: unapproved 1 runs code, which nobody has approved yet."],
  ["no room", <Step key="room" instanceType="full" />, "Gone on: gpu-a1: no GPU has 6.4 GB free"],
])("%s is no reason to stay: it is said", async (_, step, said) => {
  await show(step);
  await press("Continue");
  await expect.element(page.getByText(said)).toBeVisible();
  await expect.element(page.getByText("Trial: none")).toBeVisible();
});

test("who edits before it has begun stays, whatever is answered then", async () => {
  await show(<Step instanceType="full" />);
  await press("Continue and edit");
  await press("On a CPU");
  await expect.element(page.getByText("It could not be tried")).toBeVisible();
  await expect.element(page.getByText("Gone on: no")).toBeVisible();
});

test("who skips before it has begun goes on once", async () => {
  await show(<Step instanceType="full" />);
  await press("Continue and skip");
  await expect.element(page.getByText("It could not be tried")).toBeVisible();
  await expect.element(page.getByText("Gone on: tried or skipped", { exact: true })).toBeVisible();
});

test("what was begun for a text that is edited since is ended", async () => {
  await show(<Step />);
  await press("Continue and edit");
  await expect.element(page.getByText(/^Trial: trial-/)).toBeVisible();
  await press("On a CPU");
  await expect.element(page.getByText("It was canceled.")).toBeVisible();
  await expect.element(page.getByText("Gone on: no")).toBeVisible();
});

test("a server that is away for a while ends no trial", async () => {
  const real = window.fetch;
  let asked = 0;
  const away = vi.spyOn(window, "fetch").mockImplementation((input, init) => {
    const request = new Request(input, init);
    if (request.method !== "GET" || !request.url.includes("/try-loads/") || ++asked === 1) return real(request);
    return Promise.resolve(Response.json({ title: "Bad gateway", status: 502, code: "BadGateway", detail: "away" }, { status: 502 }));
  });
  try {
    await show(<Step />);
    await press("Continue");
    // The first answers, which the query asks for again at once, and one of its clock.
    await expect.poll(() => asked, { timeout: 12_000 }).toBeGreaterThan(4);
    await expect.element(page.getByText("waits")).toBeVisible();
    await expect.element(page.getByText("gpu-a1: pending")).toBeVisible();
  } finally {
    away.mockRestore();
  }
  await expect.element(page.getByText("Gone on: tried or skipped"), { timeout: 12_000 }).toBeVisible();
}, 30_000);

test("who asks for it has code run that nobody approved", async () => {
  await expect(startTryLoad({ model: "unapproved" })).resolves.toMatchObject({ state: "Queued" });
  await show(<Step of={UNAPPROVED} />);
  await press("Try load");
  await expect.element(page.getByText(/^It loads on gpu-a1/)).toBeVisible();
});

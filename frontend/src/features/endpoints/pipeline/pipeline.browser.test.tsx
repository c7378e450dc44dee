import { expect, test } from "vitest";
import { page } from "vitest/browser";
import type { Deployment } from "@/api/types";
import { show } from "@/testing/show";
import { PipelineOf } from "../pages/pipeline-tab";

const deployment = (model: string, version: number) => ({ name: "blue", model, version, config_revision: null }) as unknown as Deployment;
const pipeline = (endpoint: string, model: string, version: number) => (
  <PipelineOf endpoint={endpoint} deployment={deployment(model, version)} of={undefined} onOf={() => undefined} />
);

test("steps with types between them, figures on each, the slow and the faulty one in words", async () => {
  await show(pipeline("sentiment", "minilm-sentiment", 2));
  await expect.element(page.getByRole("region", { name: "Pipeline of blue" })).toBeVisible();
  await expect.element(page.getByText("token_ids, INT64 -1 (any), goes from tokenizer to encoder")).toBeInTheDocument();
  await expect
    .element(page.getByRole("status"))
    .toHaveTextContent("encoder takes most of the time: its requests wait. tokenizer fails, more and more.");
  const row = (name: string) => page.getByRole("table", { name: "Steps" }).getByRole("row", { name: new RegExp(`^${name}`) });
  await expect.element(row("encoder")).toHaveTextContent("Slow: it waits");
  await expect.element(row("tokenizer")).toHaveTextContent("Failing, more and more");
  await expect.element(row("classifier")).not.toHaveTextContent("Slow");
  await expect.element(row("minilm-sentiment")).toHaveTextContent("ensemble");
});

test("whom a step calls, with what is passed, figures and marks", async () => {
  await show(pipeline("sentiment", "minilm-sentiment", 2));
  const drawing = page.getByRole("region", { name: "Pipeline of blue" });
  await expect.element(drawing).toHaveTextContent("spelling");
  await expect.element(drawing).toHaveTextContent("→ word");
  await expect.element(drawing).toHaveTextContent("2.00 a request");
  // What is called and not there.
  await expect.element(drawing).toHaveTextContent("lexiconnot loaded");
  await expect.element(page.getByText("word, STRING 1, goes from tokenizer to spelling")).toBeInTheDocument();
  await expect.element(page.getByText("corrected, STRING 1, goes from spelling to tokenizer")).toBeInTheDocument();
  await expect.element(page.getByText(/^tokenizer calls lexicon < 0\.01 a request, .* Failing$/)).toBeInTheDocument();
  const calls = page.getByRole("table", { name: "Calls between models" });
  const row = (name: string) => calls.getByRole("row", { name: new RegExp(`^tokenizer calls ${name}`) });
  await expect.element(row("spelling")).toHaveTextContent("91,204");
  await expect.element(row("spelling")).not.toHaveTextContent("Failing");
  await expect.element(row("lexicon")).toHaveTextContent("Failing");
});

test("one model is no pipeline", async () => {
  await show(pipeline("digits", "digits", 3));
  await expect.element(page.getByText("blue runs one model")).toBeVisible();
  await expect.element(page.getByRole("region")).not.toBeInTheDocument();
});

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { modelVersionQuery } from "@/api/models";
import type { ConfigProblem } from "@/api/types";
import { show } from "@/testing/show";
import { NO_FIELDS, readConfig } from "../config/config-fields";
import { sourceOfVersion } from "../config/source";
import { PipelineEditor } from "./pipeline-editor";

/** An ensemble in the editor, with its text beside it. */
function Editing({ problems = [] }: { problems?: ConfigProblem[] }) {
  const { data } = useQuery(modelVersionQuery("minilm-sentiment", 2));
  const [edited, setEdited] = useState<string | null>(null);
  if (!data) return null;
  const { models } = sourceOfVersion(data);
  const model = models[0]!;
  const text = edited ?? model.startText;
  const fields = readConfig(text).fields ?? NO_FIELDS;
  return (
    <>
      <PipelineEditor form={{ model, repository: models, text, fields, start: fields, problems, disabled: false, onChange: setEdited }} />
      <textarea aria-label="Text" value={text} readOnly rows={30} cols={60} />
    </>
  );
}

const text = page.getByRole("textbox", { name: "Text" });
const step = (title: string) => page.getByRole("listitem", { name: `Step ${title}` });
const button = (name: string) => page.getByRole("button", { name, exact: true });

test("a step is connected by what fits, renamed and removed; the text says the same", async () => {
  await show(<Editing />);
  await expect.element(page.getByText("token_ids, INT64 -1 (any), goes from tokenizer to encoder")).toBeInTheDocument();
  const takes = page.getByRole("combobox", { name: "x takes" });
  await expect.element(takes).toHaveValue("embedding");
  await takes.click();
  // What does not fit is there, cannot be chosen, and says why.
  const refused = page.getByRole("option", { name: /^token_ids/ });
  await expect.element(refused).toHaveTextContent("INT64, wanted is FP32");
  await expect.element(refused).toHaveAttribute("data-combobox-disabled", "true");
  await userEvent.keyboard("{Escape}");
  const called = page.getByRole("textbox", { name: "embedding is called" });
  await userEvent.fill(called, "token_ids");
  await expect.element(page.getByText("Another tensor is called token_ids")).toBeVisible();
  await userEvent.keyboard("{Enter}");
  await expect.element(page.getByText("Another tensor is called token_ids")).toBeVisible();
  await expect.element(called).toHaveValue("token_ids");
  await userEvent.fill(called, "vector");
  await userEvent.keyboard("{Enter}");
  await expect.element(takes).toHaveValue("vector");
  await expect.element(text).toHaveValue(expect.stringContaining('input_map { key: "x" value: "vector" }'));
  await button("Remove step 2. encoder").click();
  await expect.element(page.getByText("No step makes vector")).toBeVisible();
  await expect.element(text).not.toHaveValue(expect.stringContaining("encoder"));
  await expect.element(text).toHaveValue(expect.stringContaining("# splits words"));
});

test("a step is added by keyboard, with names of its own, and takes what it needs", async () => {
  await show(<Editing />);
  await page.getByRole("combobox", { name: "Add a step" }).click();
  await userEvent.keyboard("enc{ArrowDown}{Enter}");
  await button("Add").click();
  const added = step("4. encoder");
  await expect.element(added.getByRole("textbox", { name: "embedding is called" })).toHaveValue("embedding_2");
  await added.getByRole("combobox", { name: "input_ids takes" }).click();
  await page.getByRole("option", { name: /^token_ids/ }).click();
  await expect.element(page.getByText("token_ids, INT64 -1 (any), goes from tokenizer to encoder").nth(1)).toBeInTheDocument();
  await expect.element(text).toHaveValue(expect.stringContaining('input_map { key: "input_ids" value: "token_ids" }'));
  await page.getByRole("combobox", { name: "Output scores comes from" }).click();
  for (const tensor of ["embedding", "embedding_2"])
    await expect
      .element(page.getByRole("option", { name: `embedding of encoder, called ${tensor}`, exact: false }).first())
      .toBeInTheDocument();
  await userEvent.keyboard("{Escape}");
  await page.getByRole("combobox", { name: "Version of step 4. encoder" }).click();
  await page.getByRole("option", { name: "version 1" }).click();
  await expect.element(text).toHaveValue(expect.stringContaining("model_version: 1\n"));
});

test("what the checks say stands at its step", async () => {
  const problem = {
    severity: "error",
    code: "EnsembleMismatch",
    field: "ensemble_scheduling[0].step[1]",
    message: "inconsistent shape",
    plain: "",
    line: 1,
    column: 1,
    hint: null,
    fix: null,
  } satisfies ConfigProblem;
  await show(<Editing problems={[problem]} />);
  await expect.element(step("2. encoder")).toHaveTextContent("inconsistent shape");
  await expect.element(step("1. tokenizer")).not.toHaveTextContent("inconsistent shape");
});

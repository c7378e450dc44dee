import { useState } from "react";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { NameClash } from "./name-clash";

const CLASH = {
  model: "model",
  version: 1,
  by: "ada",
  there: "image FP32 [3, 224, 224] → scores FP32 [1000]",
  here: "x FP32 [-1] → y FP32 [4]",
  free: "model-2",
};

function Asked() {
  const [said, say] = useState("");
  return (
    <>
      <NameClash clash={CLASH} onName={(name) => say(`named ${name}`)} onNext={() => say("next version")} />
      <p>Answer: {said}</p>
    </>
  );
}

test("a file that bears another model's name may be either", async () => {
  await show(<Asked />);
  await expect.element(page.getByRole("alert")).toHaveTextContent(/another model called model.* Its version 1, by ada, has other inputs/);
  await page.getByRole("button", { name: "Call this one model-2" }).click();
  await expect.element(page.getByText("Answer: named model-2")).toBeVisible();
  await page.getByRole("button", { name: "It is version 2 of model" }).click();
  await expect.element(page.getByText("Answer: next version")).toBeVisible();
});

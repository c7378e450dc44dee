import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { paths } from "@/app/paths";
import { answerBy, askMadeUp } from "@/testing/answers";
import { showStudio } from "@/testing/show";

/** The made-up installation calls its newest version of this model 2. */
const numberThree = (model: string) =>
  answerBy((request) =>
    request.url.endsWith(`/models/${model}/versions/3`)
      ? askMadeUp(new Request(request.url.replace(/3$/, "2"), request))
          .then((found) => found.json())
          .then((version) => Response.json({ ...version, version: 3 }))
      : undefined,
  );

test("what one is writing about a version is not carried to another model's of the same number", async () => {
  numberThree("minilm-sentiment");
  const router = await showStudio("/models/minilm-sentiment/versions/3");
  const edit = page.getByRole("button", { name: "Edit: Description of this version" });
  await expect.element(edit).toBeVisible(); // read, so that nothing has to be waited for later
  await router.navigate(paths.modelTab("digits", 3, "overview"));
  await expect.element(page.getByRole("heading", { level: 1, name: "digits" })).toBeVisible();
  await userEvent.click(edit);
  await userEvent.fill(page.getByRole("textbox", { name: "Description" }), "of digits alone");
  await router.navigate(paths.modelTab("minilm-sentiment", 3, "overview"));
  await expect.element(page.getByRole("heading", { level: 1, name: "minilm-sentiment" })).toBeVisible();
  await expect.element(edit).toBeVisible();
  expect(page.getByRole("textbox", { name: "Description" }).elements()).toHaveLength(0);
});

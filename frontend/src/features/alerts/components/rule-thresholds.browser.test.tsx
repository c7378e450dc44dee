import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import { RulesList } from "./rules-list";

const button = (name: string) => page.getByRole("button", { name, exact: true });

afterEach(() => localStorage.removeItem("mock.role"));

test("a project's threshold is told beside the installation's, changed, removed, and another one set", async () => {
  await show(<RulesList chosen="queue-slow" />);
  const form = page.getByRole("form", { name: "project vision" });
  await expect.element(form).toHaveTextContent("800 ms; installation: 500 ms");
  await form.getByRole("textbox").fill("900");
  await form.getByRole("button", { name: "Save" }).click();
  await expect.element(form).toHaveTextContent("900 ms; installation: 500 ms");
  await button("Remove the threshold of project vision").click();
  await expect.element(form).not.toBeInTheDocument();
  await button("Set one…").click();
  await page.getByRole("combobox", { name: "For", exact: true }).click();
  await page.getByRole("option", { name: "vision", exact: true }).click();
  await page.getByRole("form", { name: "A threshold of its own" }).getByRole("textbox", { name: "Threshold" }).fill("700");
  await button("Set it").click();
  await expect.element(form).toHaveTextContent("700 ms; installation: 500 ms");
});

test("who was not alone sees what it is now, and writes over it only by saying so", async () => {
  const tags: (string | null)[] = [];
  answerBy((request) => {
    if (request.method !== "PUT") return undefined;
    tags.push(request.headers.get("If-Match"));
    const current = { about: "endpoint/resnet50-prod", threshold: 333, unit: "ms", etag: 'W/"theirs"' };
    if (tags.length > 1) return Response.json(current);
    return Response.json({ title: "Changed", code: "PreconditionFailed", current }, { status: 412 });
  });
  await show(<RulesList chosen={undefined} />);
  const form = page.getByRole("form", { name: "endpoint resnet50-prod" });
  await form.getByRole("textbox").fill("400");
  await form.getByRole("button", { name: "Save" }).click();
  await expect.element(page.getByRole("alert")).toHaveTextContent("333 ms");
  await expect.element(form.getByRole("button", { name: "Save" })).toBeDisabled();
  await button("Save mine over it").click();
  await expect.element(page.getByRole("alert")).not.toBeInTheDocument();
  expect(tags).toEqual(['W/"endpoint/resnet50-prod 250"', 'W/"theirs"']);
});

test("who may not deploy reads them", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<RulesList chosen={undefined} />);
  await expect.element(page.getByRole("form", { name: "endpoint resnet50-prod" })).toHaveTextContent("250 ms");
  await expect.element(button("Set one…")).toBeDisabled();
  await expect.element(button("Remove the threshold of endpoint resnet50-prod")).toBeDisabled();
});

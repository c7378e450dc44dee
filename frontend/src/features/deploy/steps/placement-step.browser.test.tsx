import { afterEach, beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { askMadeUp, answerBy } from "@/testing/answers";
import { showStudio } from "@/testing/show";

beforeEach(() => localStorage.setItem("mock.many", "45"));
afterEach(() => localStorage.removeItem("mock.many"));

const nodes = page.getByRole("heading", { name: /^node-\d{5}$/ });
const count = (shown: number) => expect.poll(() => nodes.elements().length).toBe(shown);

test("of many nodes the best are read, more by a click, and others by their names; none of them twice", async () => {
  const travelled: number[] = [];
  answerBy(async (request) => {
    const answer = await askMadeUp(request.clone());
    if (request.url.endsWith("/placement/preview")) travelled.push(((await answer.clone().json()) as { items: unknown[] }).items.length);
    return answer;
  });
  await showStudio("/deploy/new?model=digits&version=3&step=placement");
  await expect.element(page.getByRole("heading", { name: "node-00000" }), { timeout: 40_000 }).toBeVisible();
  await count(20);
  await expect.element(page.getByText("20 of 45 nodes, the best first", { exact: false })).toBeVisible();
  const more = page.getByRole("button", { name: "Show more" });
  await more.click();
  await count(40);
  await more.click();
  await count(45);
  await expect.element(more).not.toBeInTheDocument();
  expect(Math.max(...travelled)).toBe(20);
  await userEvent.fill(page.getByLabelText("Filter nodes"), "00044");
  await count(1);
}, 60_000);

test("nobody goes on by what nodes said of another number of replicas", async () => {
  const held: (() => void)[] = [];
  answerBy(async (request) => {
    const asked = (request.url.endsWith("/placement/preview") ? await request.clone().json() : {}) as { instance_count?: number };
    if (asked.instance_count === 2) await new Promise<void>((answer) => held.push(answer));
    return askMadeUp(request);
  });
  await showStudio("/deploy/new?model=digits&version=3&step=placement");
  const onward = page.getByRole("button", { name: "Continue to deployment" });
  await expect.element(onward, { timeout: 40_000 }).toBeEnabled();
  await userEvent.fill(page.getByRole("textbox", { name: "Replicas" }), "2");
  await expect.poll(() => held.length).toBe(1);
  await expect.element(onward).toBeDisabled();
  for (const answer of held) answer();
  await expect.element(onward).toBeEnabled();
}, 60_000);

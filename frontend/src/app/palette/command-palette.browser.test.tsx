import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { palette } from "@/app/layouts/toggles";
import { useShortcuts } from "@/app/layouts/use-shortcuts";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import CommandPalette from "./command-palette";

function Page() {
  useShortcuts();
  return (
    <>
      <button type="button">Elsewhere</button>
      <input aria-label="Name" />
      <CommandPalette />
    </>
  );
}

const dialog = page.getByRole("dialog", { name: "Search" });
const search = page.getByRole("textbox", { name: "Search" });
const item = (name: RegExp | string) => dialog.getByRole("button", { name });

afterEach(() => palette.close());

async function opened(): Promise<void> {
  await page.getByRole("button", { name: "Elsewhere" }).click();
  await userEvent.keyboard("{Control>}k{/Control}");
  await expect.element(search).toHaveFocus();
}

test("Ctrl K opens it also while one types, and Escape gives the focus back", async () => {
  await show(<Page />);
  await page.getByRole("textbox", { name: "Name" }).click();
  await userEvent.keyboard("{Control>}k{/Control}");
  await expect.element(search).toHaveFocus();
  await userEvent.keyboard("{Escape}");
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(page.getByRole("textbox", { name: "Name" })).toHaveFocus();
});

test("words in any order find what has them all, and Enter goes there", async () => {
  const shown = await show(<Page />);
  await opened();
  await userEvent.keyboard("digits logs");
  await expect.element(page.getByRole("status")).toHaveTextContent("1 result");
  await expect.element(item("Logs of digits")).toBeVisible();
  await userEvent.keyboard("{ArrowDown}{Enter}");
  await expect.element(dialog).not.toBeInTheDocument();
  expect(shown.address()).toContain("/endpoints/digits/logs");
});

test("the arrows keep what they are on in sight of a list longer than its box", async () => {
  await show(<Page />);
  await opened();
  await userEvent.keyboard("e");
  await expect.element(page.getByRole("status")).toHaveTextContent(/^30 of \d+: type on/);
  await userEvent.keyboard("{ArrowDown>20}{/ArrowDown}");
  const on = () => dialog.element().querySelector("[data-selected]");
  await expect.poll(on).not.toBeNull();
  await expect.element(page.elementLocator(on() as Element)).toBeInViewport({ ratio: 0.9 });
});

test("what asks first opens its dialog, which has the keyboard", async () => {
  await show(<Page />);
  await opened();
  await userEvent.keyboard("pause blue digits");
  // why: what is there is read while one types, and a list that changes gives up what was chosen in it.
  await expect.element(item(/^Pause blue of digits/)).toBeVisible();
  await userEvent.keyboard("{ArrowDown}{Enter}");
  const asked = page.getByRole("dialog", { name: "Pause blue" });
  await expect.element(asked.getByRole("textbox", { name: "Type blue to confirm" })).toHaveFocus();
  await expect.element(dialog).not.toBeInTheDocument();
});

test("what the role refuses is off, and says why", async () => {
  localStorage.setItem("mock.role", "viewer");
  const shown = await show(<Page />);
  await opened();
  await userEvent.keyboard("pause blue digits");
  const pause = item(/^Pause blue of digits/);
  await expect.element(pause).toBeDisabled();
  await expect.element(pause).toHaveTextContent("Needs the role deployer or a higher one");
  await userEvent.keyboard("{ArrowDown}{Enter}");
  await expect.element(page.getByRole("dialog", { name: "Pause blue" })).not.toBeInTheDocument();
  expect(shown.address()).toBe("/");
});

test("keys that go somewhere do so only where nobody types", async () => {
  const shown = await show(<Page />);
  await page.getByRole("textbox", { name: "Name" }).click();
  await userEvent.keyboard("gm");
  await expect.element(page.getByRole("textbox", { name: "Name" })).toHaveValue("gm");
  expect(shown.address()).toBe("/");
  await page.getByRole("button", { name: "Elsewhere" }).click();
  await userEvent.keyboard("gm");
  await expect.poll(shown.address).toBe("/models");
});

test("a list that is cut says how much there is, and one that is whole does not", async () => {
  localStorage.setItem("mock.many", "1200");
  await show(<Page />);
  await opened();
  await userEvent.keyboard("model-011");
  // 100 models, each with what can be done to it.
  const rest = item(/^30 of \d+: type on to find the others/);
  await expect.element(rest).toBeInTheDocument();
  const total = Number(/of (\d+)/.exec(rest.element().textContent)?.[1]);
  expect(total).toBeGreaterThanOrEqual(100);
  await expect.element(rest).toBeDisabled();
  await userEvent.keyboard("99");
  await expect.element(item(/^model-01199/).first()).toBeVisible();
  expect(item(/type on to find/).elements()).toHaveLength(0);
});

test("of thousands of models the last is found, too", async () => {
  localStorage.setItem("mock.many", "1200");
  await show(<Page />);
  await opened();
  await userEvent.keyboard("model-01199");
  await expect.element(item(/^model-01199/)).toBeVisible();
});

test("a list that could not be read is told, and that of others who may not see it is not", async () => {
  answerBy(({ url }) => {
    const { pathname } = new URL(url);
    if (pathname.endsWith("/models")) return Response.json({ title: "Broken", detail: "The database is away." }, { status: 422 });
    return pathname.endsWith("/nodes") ? Response.json({ title: "Forbidden" }, { status: 403 }) : undefined;
  });
  await show(<Page />);
  await opened();
  await userEvent.keyboard("resnet50");
  await expect.element(item(/^Models/)).toHaveTextContent("Could not be read: The database is away.");
  await expect.element(item(/^resnet50-prod/).first()).toBeVisible();
  expect(item(/^Nodes/).elements()).toHaveLength(0);
});

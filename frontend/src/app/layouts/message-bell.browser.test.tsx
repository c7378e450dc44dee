import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { paths } from "@/app/paths";
import { messages } from "@/components/messages";
import { show } from "@/testing/show";
import { MessageBell } from "./message-bell";

const KEY = "shoal.messages.maria";
const bell = page.getByRole("button", { name: /^Messages: / });
const list = page.getByRole("list", { name: "Messages" });

afterEach(() => messages.clear());

/** When the list is that of who is signed in, what is said is kept for them. */
async function signedIn(): Promise<void> {
  messages.add({ tone: "ok", title: "Early", read: true });
  await expect.poll(() => localStorage.getItem(KEY)).toContain("Early");
}

test("what failed counts until the list was open; then the focus is back on the bell", async () => {
  await show(<MessageBell />);
  messages.add({ tone: "error", title: "blue of digits failed", detail: "Out of memory", read: false });
  messages.add({ tone: "ok", title: "node-a1 is empty", read: false });
  await expect.element(page.getByRole("button", { name: "Messages: 2 unread" })).toBeVisible();
  await bell.click();
  await expect.element(list.getByRole("listitem").first()).toHaveTextContent("node-a1 is empty");
  await expect.element(list.getByText("Out of memory")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Messages: 2 unread" })).toHaveAttribute("aria-expanded", "true");
  await expect.element(list).toHaveFocus();
  await userEvent.keyboard("{Escape}");
  await expect.element(list).not.toBeInTheDocument();
  await expect.element(page.getByRole("button", { name: "Messages: none unread" })).toHaveFocus();
});

test("the list lies within a narrow window, under the bell", async () => {
  await page.viewport(360, 640);
  await show(
    <div style={{ display: "flex", justifyContent: "flex-end" }}>
      <MessageBell />
    </div>,
  );
  for (let index = 0; index < 40; index += 1)
    messages.add({ tone: "ok", title: `Operation ${index} of an endpoint with a rather long name has ended`, read: false });
  await bell.click();
  await expect.element(list).toBeInViewport({ ratio: 1 });
  expect(list.element().getBoundingClientRect().top).toBeGreaterThanOrEqual(bell.element().getBoundingClientRect().bottom);
  expect(list.element().scrollHeight).toBeGreaterThan(list.element().clientHeight);
  expect(document.documentElement.scrollWidth).toBe(360);
});

test("a message leads to what it tells of, and closes the list", async () => {
  const shown = await show(<MessageBell />);
  messages.add({ tone: "ok", title: "node-a1 is empty", link: paths.node("node-a1"), read: false });
  await bell.click();
  await list.getByRole("link", { name: /node-a1 is empty/ }).click();
  await expect.element(list).not.toBeInTheDocument();
  expect(shown.address()).toMatch(/^\/nodes\/node-a1/);
});

test("what another window of this browser has heard is shown here, too", async () => {
  await show(<MessageBell />);
  await signedIn();
  const other = { id: "1", at: new Date().toISOString(), tone: "error", title: "Told elsewhere", read: false };
  window.dispatchEvent(new StorageEvent("storage", { key: KEY, newValue: JSON.stringify([other]) }));
  await expect.element(page.getByRole("button", { name: "Messages: 1 unread" })).toBeVisible();
  await bell.click();
  await expect.element(list.getByText("Told elsewhere")).toBeVisible();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect.element(list.getByText(/^Nothing yet/)).toBeVisible();
  expect(localStorage.getItem(KEY)).toBeNull();
});

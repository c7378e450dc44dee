import { afterEach, beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { closeLive, live } from "@/live/live";
import { show } from "@/testing/show";
import { Topbar } from "./topbar";

/** A link that is lost as soon as it is opened; the next one neither opens nor is refused. */
class LostSocket {
  static opened = 0;
  onclose: ((event: CloseEvent) => void) | null = null;
  constructor() {
    LostSocket.opened += 1;
    if (LostSocket.opened === 1) setTimeout(() => this.onclose?.(new CloseEvent("close", { code: 1006 })), 0);
  }
  send(): void {}
  close(): void {}
}

const connected = window.WebSocket;
let leave = () => {};

beforeEach(() => {
  LostSocket.opened = 0;
  window.WebSocket = LostSocket as unknown as typeof WebSocket;
  leave = live().subscribe("overview", {}, () => {});
});

afterEach(() => {
  leave();
  closeLive();
  window.WebSocket = connected;
});

const bar = (
  <div style={{ position: "fixed", inset: "0 0 auto" }}>
    <Topbar onMenu={() => {}} />
  </div>
);

test("while the link is lost the bar says that data is paused", async () => {
  await page.viewport(1280, 800);
  await show(bar);
  await expect.element(page.getByText("Reconnecting, data paused")).toBeVisible();
});

test("as narrow as a phone it says so in a word, and the account stays within the window", async () => {
  await page.viewport(360, 640);
  await show(bar);
  await expect.element(page.getByText("Reconnecting")).toBeVisible();
  const account = page.getByRole("button", { name: "Account" }).element();
  expect(account.getBoundingClientRect().right).toBeLessThanOrEqual(360);
});

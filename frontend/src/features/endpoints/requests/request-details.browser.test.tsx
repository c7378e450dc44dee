import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { requestsQuery } from "@/api/requests";
import { show } from "@/testing/show";
import { RequestDetails } from "./request-details";

const dialog = page.getByRole("dialog", { name: "Request" });

/** The request of the made-up installation whose id begins so. */
function Shown({ id }: { id: string }) {
  const { data } = useQuery(requestsQuery("resnet50-prod", { id }));
  return <RequestDetails endpoint="resnet50-prod" request={data?.[0] ?? null} onClose={() => undefined} />;
}

test("where the time of a request went, who answered it, and the id that a caller can be told", async () => {
  await show(<Shown id="c7a0" />);
  await expect.element(dialog).toHaveTextContent("c7a0b4de-3b1f-47c5-8d0a-6b2f5f0e9d11");
  const way = page.getByRole("region", { name: "Where its time went" });
  await expect.element(way.getByRole("row", { name: /Gateway, network and replica 912.ms/ })).toBeVisible();
  const slow = way.getByRole("row", { name: /Queue ?slow 801.ms/ });
  await expect.element(slow).toBeVisible();
  await expect.element(way.getByRole("row", { name: /Step resnet50, version 3 ?in a batch of 8 requests 890.ms/ })).toBeVisible();
  const bar = (row: typeof slow) => row.element().querySelector("[data-leaf]")?.getBoundingClientRect();
  const queued = bar(slow);
  const computed = bar(way.getByRole("row", { name: /Compute 86.*ms/ }));
  expect(computed?.left).toBeGreaterThan(queued?.left ?? Infinity);
  expect(queued?.width).toBeGreaterThan(5 * (computed?.width ?? Infinity));
  await expect.element(page.getByRole("link", { name: "0d6f7f0e" })).toBeVisible();
  await expect.element(dialog).toHaveTextContent("r-blue-0 on gpu-a1");
  await expect.element(page.getByRole("link", { name: "Logs of the replica" })).toBeVisible();
  const replay = page.getByRole("link", { name: "Open in console" });
  await expect.element(replay).toHaveAttribute("href", expect.stringMatching(/test\?dep=blue&captured=c7a0b4de-.*&at=\d+/));
});

test("what no replica answered has no time, and says what the gateway says", async () => {
  await show(<Shown id="5a1c" />);
  await expect.element(dialog).toHaveTextContent("It has no time of its own");
  await expect.element(dialog).toHaveTextContent("no replica had it");
  await expect.element(dialog).toHaveTextContent("none: the gateway answered by itself");
  await expect.element(dialog).toHaveTextContent("lua_response");
});

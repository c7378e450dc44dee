import { useQuery } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery, setTraffic } from "@/api/endpoints";
import type { Endpoint, TrafficChange } from "@/api/types";
import { makeQueryClient } from "@/app/query-client";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import { RoutingStatus } from "../components/unconfirmed-note";
import { TrafficWatchBanner } from "./traffic-watch";

const NAME = "resnet50-prod";

/** The endpoint as the server has it, with what a test says otherwise of its last change. */
function Shown({ over = {}, change = {} }: { over?: Partial<Endpoint>; change?: Partial<TrafficChange> }) {
  const { data } = useQuery(endpointQuery(NAME));
  if (!data) return null;
  const told = data.traffic_change && { ...data.traffic_change, ...change };
  const endpoint = { ...data, traffic_change: told, ...over };
  return (
    <>
      <RoutingStatus endpoint={endpoint} />
      <TrafficWatchBanner endpoint={endpoint} />
      <p>Served: {data.traffic["blue"]}</p>
    </>
  );
}

const move = async (blue: number) => {
  const { etag } = await makeQueryClient().fetchQuery(endpointQuery(NAME));
  await setTraffic(NAME, { blue, green: 100 - blue }, etag);
};
const chip = page.getByText("Routing", { exact: true });
const change = page.getByRole("region", { name: "Traffic change" });
const undo = page.getByRole("button", { name: "Undo: back to 80 / 20" });

beforeEach(async () => {
  await move(80);
  await move(60);
});
afterEach(() => localStorage.removeItem("shoal.traffic-change-dismissed"));

test("who moved it and how it does is what the server says, also after a reload", async () => {
  const first = await show(<Shown />);
  await expect.element(change).toHaveTextContent(/Traffic is now 60 \/ 40\. green does no worse than before/);
  await expect.element(change).toHaveTextContent(/before the change errors 0\.52 %, p95 11\.9 ms\. Changed by maria, .* s left to watch\./);
  await first.unmount();
  await show(<Shown />);
  await expect.element(undo).toBeVisible();
});

test("until gateways have confirmed it, traffic is being routed", async () => {
  await show(<Shown over={{ routed: false }} change={{ state: "routing", routed_at: null, watched_until: null }} />);
  await expect.element(chip).toBeVisible();
  await expect.element(change).toHaveTextContent(/Routing 60 \/ 40\. Gateways have not confirmed it yet/);
});

test("undo puts back what was before, and says who did", async () => {
  await show(<Shown />);
  await undo.click();
  await expect.element(page.getByText("Served: 80")).toBeVisible();
  await expect.element(change).toHaveTextContent(/maria has put the traffic back: it is 80 \/ 20 again/);
  await expect.element(change).toHaveTextContent(/Until then: green does no worse than before\. Errors 0 %/);
  await expect.element(undo).not.toBeInTheDocument();
});

test("what was moved by others meanwhile is not undone: theirs is shown", async () => {
  await show(<Shown />);
  await expect.element(undo).toBeVisible();
  await move(30);
  await undo.click();
  await expect.element(change).toHaveTextContent(/Traffic is now 30 \/ 70\./);
  await expect.element(page.getByRole("button", { name: "Undo: back to 60 / 40" })).toBeVisible();
  await expect.element(page.getByText("Served: 30")).toBeVisible();
});

test("put away it stays away in this browser, until the next change", async () => {
  const first = await show(<Shown />);
  await page.getByRole("button", { name: "Put away, for me alone" }).click();
  await expect.element(change).not.toBeInTheDocument();
  await first.unmount();
  const again = await show(<Shown />);
  await expect.element(page.getByText("Served: 60")).toBeVisible();
  await expect.element(change).not.toBeInTheDocument();
  await again.unmount();
  await move(50);
  await show(<Shown />);
  await expect.element(change).toBeVisible();
});

test("what is over and good goes by itself; without a way back there is no button", async () => {
  const first = await show(<Shown change={{ state: "watched" }} />);
  await expect.element(page.getByText("Served: 60")).toBeVisible();
  await expect.element(change).not.toBeInTheDocument();
  await first.unmount();
  await show(<Shown change={{ undo: null }} />);
  await expect.element(change).toHaveTextContent(/Who answered before is gone\./);
  await expect.element(undo).not.toBeInTheDocument();
});

test("a gateway that is silent has a note of its own", async () => {
  await show(<Shown over={{ routed: false, unconfirmed: [{ gateway: "east", silent_since: "2026-01-01T10:00:00Z" }] }} />);
  await expect.element(change).toBeVisible();
  await expect.element(chip).not.toBeInTheDocument();
});

test("where the figures cannot be read, that is said, and undo is there all the same", async () => {
  answerBy(({ url }) =>
    url.endsWith("/traffic/watch") ? Response.json({ title: "Broken", detail: "The database is away." }, { status: 422 }) : undefined,
  );
  await show(<Shown />);
  await expect.element(change).toHaveTextContent("How it does could not be read: The database is away.");
  await undo.click();
  await expect.element(page.getByText("Served: 80")).toBeVisible();
});

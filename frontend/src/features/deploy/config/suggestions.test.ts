import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it, vi } from "vitest";
import { endpointsNowQuery, endpointsQuery } from "@/api/endpoints";
import { placeProblem, suggestion } from "./suggestions";

const endpoint = (name: string, deployments: Record<string, string> = {}, traffic: Record<string, number> = {}) => ({
  name,
  traffic,
  deployments: Object.entries(deployments).map(([one, state]) => ({ name: one, provisioning_state: state as "Failed" })),
});
const fresh = { named: false, target: "new" as const, endpoint: "digits", deployment: "blue" };
const beside = { ...fresh, target: "existing" as const };

describe("suggested names", () => {
  it.each([
    ["free", fresh, [], null],
    ["taken", fresh, [endpoint("digits"), endpoint("digits-2")], { endpoint: "digits-3" }],
    ["typed", { ...fresh, named: true }, [endpoint("digits")], null],
    ["a slot that serves", beside, [endpoint("digits", { blue: "Succeeded" })], { deployment: "green" }],
    ["a slot that failed", beside, [endpoint("digits", { blue: "Failed" })], null],
    ["a slot that failed and serves", beside, [endpoint("digits", { blue: "Failed" }, { blue: 10 })], { deployment: "green" }],
  ])("%s", (_case, place, endpoints, wanted) => {
    expect(suggestion(place, endpoints)).toEqual(wanted);
  });

  it("that have been taken since are refused in words", () => {
    expect(placeProblem(fresh, [endpoint("digits")])).toMatch(/exists already/);
    expect(placeProblem(beside, [endpoint("digits", { blue: "Succeeded" })])).toMatch(/has a deployment blue already/);
    expect(placeProblem(beside, [])).toBe("Choose an endpoint.");
  });

  it("come from what the server says when the step opens, not from a list read a moment before", async () => {
    const answers = [[], [endpoint("digits")], [endpoint("digits"), endpoint("digits-2")]];
    const fetched = vi.fn(async () => Response.json({ items: answers.shift(), next_cursor: null }));
    vi.stubGlobal("fetch", fetched);
    const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
    await client.fetchQuery(endpointsQuery());
    const now = await client.fetchQuery(endpointsNowQuery());
    expect(suggestion(fresh, now.items)).toEqual({ endpoint: "digits-2" });

    const step = new QueryObserver(client, endpointsNowQuery());
    const seen = await new Promise<ReturnType<typeof step.getCurrentResult>>((resolve) => {
      step.subscribe((result) => (result.isFetchedAfterMount ? resolve(result) : expect(result.isFetching).toBe(true)));
    });
    expect(suggestion(fresh, seen.data?.items ?? [])).toEqual({ endpoint: "digits-3" });
    step.destroy();
    vi.unstubAllGlobals();
  });
});

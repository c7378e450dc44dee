import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import type { Endpoint } from "@/api/types";
import { show } from "@/testing/show";
import { RoutingStatus } from "../components/unconfirmed-note";
import { beginWatch, endWatch } from "./store";
import { TrafficWatchBanner } from "./traffic-watch";

const NAME = "resnet50-prod";
const AFTER = { blue: 60, green: 40 };

/** The endpoint after its traffic was moved, which gateways confirm at a click. */
function Moved({ unconfirmed = [] }: { unconfirmed?: Endpoint["unconfirmed"] }) {
  const { data } = useQuery(endpointQuery(NAME));
  const [routed, setRouted] = useState(false);
  if (!data) return null;
  const endpoint = { ...data, traffic: AFTER, routed, unconfirmed };
  return (
    <>
      <RoutingStatus endpoint={endpoint} />
      <TrafficWatchBanner endpoint={endpoint} />
      <button type="button" onClick={() => setRouted(true)}>
        Confirm
      </button>
    </>
  );
}

const begin = () => beginWatch(NAME, { before: { blue: 80, green: 20 }, after: AFTER, changedAt: Date.now() });
const chip = page.getByText("Routing", { exact: true });
const change = page.getByRole("region", { name: "Traffic change" });

afterEach(() => endWatch(NAME));

test("until gateways have confirmed it, traffic is being routed; then it is what it was made", async () => {
  begin();
  await show(<Moved />);
  await expect.element(chip).toBeVisible();
  await expect.element(change).toHaveTextContent(/Routing 60 \/ 40\. Gateways have not confirmed it yet/);
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect.element(chip).not.toBeInTheDocument();
  await expect.element(change).toHaveTextContent(/Traffic is now 60 \/ 40\./);
});

test("a gateway that is silent has a note of its own", async () => {
  await show(<Moved unconfirmed={[{ gateway: "east", silent_since: "2026-01-01T10:00:00Z" }]} />);
  await expect.element(page.getByRole("button", { name: "Confirm" })).toBeVisible();
  await expect.element(chip).not.toBeInTheDocument();
});

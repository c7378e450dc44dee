import { useCallback, useState } from "react";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import type { Endpoint } from "@/api/types";
import { show } from "@/testing/show";
import { type FirstTraffic, firstTraffic, trafficBody } from "../draft/first-traffic";
import { TrafficSection } from "./traffic-section";

const SERVING = { name: "net", traffic: { blue: 100 } } as unknown as Endpoint;

function Section({ existing, first = firstTraffic("none") }: { existing: Endpoint | undefined; first?: FirstTraffic }) {
  const [traffic, setTraffic] = useState(first);
  const onTraffic = useCallback((next: FirstTraffic) => setTraffic(next), []);
  const draft = { target: existing ? ("existing" as const) : ("new" as const), endpoint: "net", deployment: "green", traffic };
  return (
    <>
      <TrafficSection draft={draft} existing={existing} known onTraffic={onTraffic} />
      <output aria-label="Asked">{JSON.stringify(trafficBody(traffic))}</output>
    </>
  );
}

const asked = page.getByRole("status", { name: "Asked" });
const way = (name: RegExp | string) => page.getByRole("radio", { name });

test("a share is ten percent unless another is typed", async () => {
  await show(<Section existing={SERVING} />);
  await expect.element(way("None yet")).toBeChecked();
  await way("A share").click();
  await expect.element(asked).toHaveTextContent('{"traffic":10}');
  await expect.element(page.getByText("Before: blue 100 %. After: green 10 %, the others keep their proportions.")).toBeVisible();
  await page.getByLabelText("Share of the traffic, %").fill("25");
  await expect.element(asked).toHaveTextContent('{"traffic":25}');
  await page.getByLabelText("Share of the traffic, %").fill("100");
  await expect.element(page.getByText("A whole number from 1 to 99")).toBeVisible();
});

test("stages have the form of a rollout, and ask for one", async () => {
  await show(<Section existing={SERVING} />);
  await way("In stages, with judgement").click();
  await page.getByLabelText("Steps, % of the traffic").fill("5, 100");
  await page.getByLabelText("Copies of requests before that, %").fill("20");
  await expect
    .element(asked)
    .toHaveTextContent(
      '{"rollout":{"steps":[{"percent":5,"hold_s":300},{"percent":100,"hold_s":0}],"min_requests":200,"shadow":{"percent":20,"hold_s":300}}}',
    );
  await way("All at once").click();
  await expect.element(asked).toHaveTextContent('{"traffic":100}');
  await way("In stages, with judgement").click();
  await expect.element(page.getByLabelText("Steps, % of the traffic")).toHaveValue("5, 100");
});

test("where nothing answers beside it there is all or nothing, with the reason", async () => {
  await show(<Section existing={undefined} first={firstTraffic("rollout")} />);
  await expect.element(way("None yet")).toBeChecked();
  await expect.element(asked).toHaveTextContent('{"traffic":0}');
  expect(page.getByRole("radio").elements()).toHaveLength(2);
  await expect.element(page.getByText(/a new endpoint has none/)).toBeVisible();
});

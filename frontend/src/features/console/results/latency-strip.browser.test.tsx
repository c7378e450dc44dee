import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { LatencyStrip } from "./latency-strip";

const TIMING = {
  total_us: 5_000,
  gateway_us: null,
  queue_us: 100,
  compute_input_us: 50,
  compute_infer_us: 2_000,
  compute_output_us: 50,
};

test("the bar is what serving took, the model first; the studio's own part is told beside it", async () => {
  await show(<LatencyStrip timing={TIMING} roundTripUs={72_000} first={false} />);
  const bar = page.getByRole("img", { name: /^Compute 2 ms, Input 50 µs, Output 50 µs, Queue 100 µs, Gateway and network 2.8 ms$/ });
  await expect.element(bar).toBeVisible();
  const [compute] = bar.element().querySelectorAll("span");
  // why not its whole width: pixels are rounded, and there are gaps.
  expect((compute?.clientWidth ?? 0) / bar.element().clientWidth).toBeCloseTo(0.4, 1);
  await expect.element(page.getByText("5 ms as a client of the endpoint has it")).toBeVisible();
  await expect.element(page.getByText("after 72 ms: 67 ms of that are the browser's and the studio's own")).toBeVisible();
});

import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { duration } from "@/components/format";
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
  const parts = [
    ["Compute", 2_000],
    ["Input", 50],
    ["Output", 50],
    ["Queue", 100],
    ["Gateway and network", 2_800],
  ] as const;
  const bar = page.getByRole("img", { name: parts.map(([part, us]) => `${part} ${duration(us)}`).join(", "), exact: true });
  await expect.element(bar).toBeVisible();
  const [compute] = bar.element().querySelectorAll("span");
  // why not its whole width: pixels are rounded, and there are gaps.
  expect((compute?.clientWidth ?? 0) / bar.element().clientWidth).toBeCloseTo(0.4, 1);
  await expect.element(page.getByText(`${duration(5_000)} as a client of the endpoint has it`)).toBeVisible();
  await expect
    .element(page.getByText(`after ${duration(72_000)}: ${duration(67_000)} of that are the browser's and the studio's own`))
    .toBeVisible();
});

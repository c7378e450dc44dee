import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { show } from "@/testing/show";
import { ScaleDialog } from "../components/deployment-dialogs";
import { DeploymentsCard } from "../components/deployments-card";
import { DecisionNote } from "./decision-note";
import { PolicyForm } from "./policy-form";

const DECIDED = {
  wanted: 5,
  asked: 5,
  reason: "5 replicas: 18 requests in flight, target 4 for each.",
  figures: { in_flight: 9 },
  blocked: "No node can take 1 of 5 replicas.",
  blocked_by: "OutOfCapacity",
  decided_at: "2026-03-02T08:00:00Z",
};
const TARGETS = { in_flight: 4, requests_per_second: null, queue_ms: null, cpu_percent: null, gpu_percent: null };
const SIDE = { window_s: 0, cooldown_s: 0, per_minute: null };
const POLICY = {
  enabled: true,
  min: 1,
  max: 4,
  targets: TARGETS,
  tolerance_percent: 10,
  interval_s: 2,
  up: SIDE,
  down: SIDE,
  idle: { after_s: 600, hold_s: 30, most_held: 100 },
  schedules: [],
};

function Loaded({ decided = false, scaled = false, listed = "" }: { decided?: boolean; scaled?: boolean; listed?: string }) {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const [first] = data?.deployments ?? [];
  if (!data || !first) return null;
  if (decided) return <DecisionNote deployment={{ ...first, autoscale: POLICY, autoscaling: DECIDED }} />;
  if (listed) {
    const one = { ...first, autoscale: POLICY, autoscaling: { ...DECIDED, blocked_by: listed } };
    return <DeploymentsCard endpoint={{ ...data, deployments: [one] }} />;
  }
  if (scaled) return <ScaleDialog endpoint={data} deployment={{ ...first, autoscale: POLICY }} opened onClose={() => undefined} />;
  return <PolicyForm endpoint={data.name} deployment={first} />;
}

test("a policy is set once it has a target, and previewed before", async () => {
  await show(<Loaded />);
  const save = page.getByRole("button", { name: "Scale by this" });
  const preview = page.getByRole("button", { name: "Preview" });
  await expect.element(save).toBeDisabled();
  await expect.element(preview).toBeDisabled();
  await userEvent.fill(page.getByRole("textbox", { name: "Requests in flight" }), "4");
  await expect.element(save).toBeEnabled();
  await userEvent.fill(page.getByRole("textbox", { name: "At least" }), "900");
  await expect.element(save).toBeDisabled();
  await userEvent.fill(page.getByRole("textbox", { name: "At least" }), "1");
  await preview.click();
  await expect.element(page.getByRole("status")).toHaveTextContent("Would have run 1 to 4 replicas in the last 24 hours: 38 replica-hours");
});

test("a number is typed over another, and what was foreseen goes with the policy that it was of", async () => {
  await show(<Loaded />);
  const most = page.getByRole("textbox", { name: "At most" });
  const flight = page.getByRole("textbox", { name: "Requests in flight" });
  const told = page.getByRole("status");
  await expect.element(page.getByText("Set one target or more.")).toBeVisible();
  await userEvent.fill(flight, "4");
  await userEvent.clear(most);
  await expect.element(most).toHaveValue("");
  await userEvent.keyboard("6");
  await expect.element(most).toHaveValue("6");
  await userEvent.clear(most);
  await userEvent.keyboard("{Tab}");
  await expect.element(most).toHaveValue("6");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect.element(told).toHaveTextContent("Would have run");
  await userEvent.fill(flight, "2");
  await expect.element(page.getByText("Would have run", { exact: false })).not.toBeInTheDocument();
});

test("a schedule alone is a policy, once its times are times", async () => {
  await show(<Loaded />);
  const save = page.getByRole("button", { name: "Scale by this" });
  await userEvent.click(page.getByText("Advanced"));
  await userEvent.click(page.getByRole("button", { name: "Add a schedule" }));
  await expect.element(page.getByText("fewer after 300 s; 1 schedule")).toBeVisible();
  await expect.element(save).toBeEnabled();
  await userEvent.fill(page.getByRole("textbox", { name: "From" }), "8 o'clock");
  await expect.element(save).toBeDisabled();
  await expect.element(page.getByText("is no time of cron")).toBeVisible();
  await userEvent.click(page.getByRole("button", { name: "Remove schedule 1" }));
  await expect.element(page.getByText("no schedules")).toBeVisible();
});

test("who scales by hand is told of the policy, and kept within its bounds", async () => {
  await show(<Loaded scaled />);
  const count = page.getByRole("textbox", { name: "Instances" });
  await expect.element(page.getByText("Its autoscaling policy keeps 1 to 4 instances by requests in flight (4).")).toBeVisible();
  await userEvent.fill(count, "9");
  await expect.element(page.getByText("1 to 4 by its autoscaling policy")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Run 9 instances" })).toBeDisabled();
});

test("the last decision is told with what stands in its way", async () => {
  await show(<Loaded decided />);
  const note = page.getByRole("note");
  await expect.element(note).toHaveTextContent("Autoscaled, 1 to 4: 5 replicas: 18 requests in flight, target 4 for each.");
  await expect.element(note).toHaveTextContent("No node can take 1 of 5 replicas.");
});

test("an endpoint says of scaling that stands still, and nothing of what passes", async () => {
  const { unmount } = await show(<Loaded listed="OutOfCapacity" />);
  const note = page.getByRole("note", { name: /^Autoscaling of / });
  await expect.element(note).toHaveTextContent("No node can take 1 of 5 replicas.");
  await unmount();
  await show(<Loaded listed="OperationInProgress" />);
  await expect.element(page.getByRole("table", { name: "Deployments" })).toBeInTheDocument();
  expect(note.elements()).toEqual([]);
});

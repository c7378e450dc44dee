import { expect, test } from "vitest";
import { page } from "vitest/browser";
import type { DeployResult, Operation } from "@/api/types";
import { show } from "@/testing/show";
import { FirstRollout } from "./first-rollout";

const stage = (status: string, detail: string) => ({ name: "rollout", status, detail }) as Operation["stages"][number];
const result = (rollout: string | null) => ({ endpoint: "resnet50-prod", deployment: "green", rollout }) as DeployResult;
const told = page.getByRole("status").first();
const follow = page.getByRole("link", { name: "Follow the rollout" });

test("one that has begun says how far it is, and leads to it", async () => {
  await show(<FirstRollout stage={stage("succeeded", "green gets 5 % → 100 %")} result={result("6b1d0c52a1")} />);
  await expect.element(told).toHaveTextContent("green has 20 % of the traffic. 20 % for 140 s more.");
  await expect.element(page.getByText("Running")).toBeVisible();
  await expect.element(follow).toHaveAttribute("href", "/endpoints/resnet50-prod/overview");
});

test("a later one is not taken for it", async () => {
  await show(<FirstRollout stage={stage("succeeded", "green gets 5 % → 100 %")} result={result("an older one")} />);
  await expect.element(told).toHaveTextContent("green gets 5 % → 100 %");
  await expect.element(follow).toBeVisible();
});

test("one that has not begun says why, and what to do next", async () => {
  await show(<FirstRollout stage={stage("failed", "Not begun: A rollout is under way.")} result={result(null)} />);
  await expect.element(told).toHaveTextContent("its rollout did not begin. Not begun: A rollout is under way.");
  await expect.element(page.getByRole("link", { name: /^Send \d+ % traffic/ })).toBeVisible();
  await expect.element(follow).not.toBeInTheDocument();
});

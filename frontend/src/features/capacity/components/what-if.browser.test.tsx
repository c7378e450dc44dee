import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { DeploymentsCard } from "./deployments-card";
import { NodesCard } from "./nodes-card";

const lost = (name: string) => page.getByRole("checkbox", { name: `What if ${name} were lost` });
const told = page.getByRole("region", { name: "If these nodes were lost" });

test("ticked nodes tell at once what their loss would do", async () => {
  await show(<NodesCard />);
  await expect.element(page.getByText("2 nodes")).toBeVisible();
  await expect.element(told).not.toBeInTheDocument();
  await lost("node-a2").click();
  await expect.element(told).toHaveTextContent("1 replica would be lost, and all of them find another place.");
  await lost("node-a1").click();
  await expect.element(told).toHaveTextContent("If node-a1, node-a2 were lost");
  await expect.element(told).toHaveTextContent("90 % of its traffic fails until there is a place for them.");
  await expect.element(told).toHaveTextContent("1 node: NVIDIA A10 has 2.1 GB free");
  await told.getByRole("button", { name: "Clear" }).click();
  await expect.element(told).not.toBeInTheDocument();
});

test("headroom says what it is told from, and costs are there only with prices", async () => {
  await show(<DeploymentsCard capacity={undefined} />);
  const row = page.getByRole("row", { name: /^resnet50-prod\/blue/ });
  await expect.element(row).toHaveTextContent("1.60 × by its instances");
  await expect.element(row).toHaveTextContent("at work 62% of its busiest hour");
  await expect.element(page.getByRole("row", { name: /^resnet50-prod\/green/ })).toHaveTextContent("not known");
  await expect.element(page.getByRole("columnheader", { name: "Per hour" })).not.toBeInTheDocument();
});

test("room for more is asked of placement, and why there is none is told", async () => {
  await show(<DeploymentsCard capacity={undefined} />);
  await page.getByRole("button", { name: "How many more fit? Replicas of resnet50-prod/blue" }).click();
  await expect.element(page.getByText("0 more replicas. 2 nodes: NVIDIA A10 has 2.1 GB free.")).toBeVisible();
  await page.getByRole("button", { name: "How many more fit? Replicas of digits/blue" }).click();
  await expect.element(page.getByText("At least 100 more replicas on 1 node.")).toBeVisible();
});

import { useQuery } from "@tanstack/react-query";
import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { latestRolloutQuery, resumeRollout } from "@/api/rollouts";
import type { Rollout } from "@/api/types";
import { show } from "@/testing/show";
import { StartRolloutDialog } from "./start-dialog";

const dialog = page.getByRole("dialog", { name: "Roll out green" });
const steps = dialog.getByLabelText("Steps, % of the traffic");
const begun = page.getByRole("status", { name: "Rollout" });

afterEach(async () => {
  await resumeRollout({ endpoint: "resnet50-prod", id: "6b1d0c52a1" } as Rollout);
});

function Asked() {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const { data: rollout } = useQuery(latestRolloutQuery("resnet50-prod"));
  const green = data?.deployments.find((one) => one.name === "green");
  if (!data || !green) return null;
  const told = rollout?.stages.map((stage) => `${stage.percent}:${stage.hold_s}`).join(" ");
  return (
    <>
      <StartRolloutDialog endpoint={data} deployment={green} opened onClose={() => undefined} />
      <output aria-label="Rollout">{told}</output>
    </>
  );
}

/** As if green had no traffic yet. */
function Switched() {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const { data: rollout } = useQuery(latestRolloutQuery("resnet50-prod"));
  const green = data?.deployments.find((one) => one.name === "green");
  if (!data || !green) return null;
  const told = rollout?.stages.map((stage) => `${stage.percent}:${stage.hold_s}:${stage.mirror}`).join(" ");
  return (
    <>
      <StartRolloutDialog endpoint={{ ...data, traffic: { blue: 100 } }} deployment={green} opened onClose={() => undefined} />
      <output aria-label="Rollout">{told}</output>
    </>
  );
}

test("a rollout begins with the steps that were typed; what is none is said, and begins nothing", async () => {
  await show(<Asked />);
  await expect.element(dialog.getByRole("button", { name: "Give green 50 %" })).toBeEnabled();
  await expect.element(dialog).toHaveTextContent("the traffic goes back to blue 80 %, green 20 % by itself");
  await steps.fill("10, 5");
  await expect.element(dialog.getByText("each more than the one before")).toBeVisible();
  await expect.element(dialog.getByRole("button", { name: "Begin" })).toBeDisabled();
  await steps.fill("20, 100");
  await dialog.getByLabelText("Minutes that each step holds").clear();
  await expect.element(dialog.getByText("a number", { exact: true })).toBeVisible();
  await dialog.getByLabelText("Minutes that each step holds").fill("2");
  await expect.element(dialog.getByRole("combobox", { name: "Compared by" })).not.toBeInTheDocument();
  await dialog.getByLabelText("Inputs a minute that both versions are asked").fill("30");
  await expect.element(dialog.getByRole("combobox", { name: "Compared by" })).toHaveValue("all values, within a tolerance");
  for (const source of ["saved cases", "random inputs", "captured requests of clients"]) {
    await dialog.getByRole("checkbox", { name: source }).click();
  }
  await expect.element(dialog.getByText("one of them at least")).toBeVisible();
  await expect.element(dialog.getByRole("button", { name: "Give green 20 %" })).toBeDisabled();
  await dialog.getByRole("checkbox", { name: "captured requests of clients" }).click();
  await dialog.getByRole("button", { name: "Give green 20 %" }).click();
  await expect.element(begun).toHaveTextContent("20:120 100:0");
});

test("one without traffic may get copies first, and all of it at once", async () => {
  await show(<Switched />);
  await dialog.getByRole("combobox", { name: "Strategy" }).click();
  await page.getByRole("option", { name: "at once, watched, and back where it does worse" }).click();
  await expect.element(steps).not.toBeInTheDocument();
  await dialog.getByLabelText("Copies of requests before that, %").fill("20");
  await dialog.getByRole("button", { name: "Begin" }).click();
  await expect.element(begun).toHaveTextContent("0:300:20 100:300:0");
});

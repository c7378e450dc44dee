import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { show } from "@/testing/show";
import { UpdateDialog } from "./update-dialog";
import { DeleteDialog, PauseDialog } from "./deployment-dialogs";

function Asked({ traffic, Dialog }: { traffic: Record<string, number>; Dialog: typeof DeleteDialog }) {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const [blue] = data?.deployments ?? [];
  if (!data || !blue) return null;
  return <Dialog endpoint={{ ...data, traffic }} deployment={blue} opened onClose={() => undefined} />;
}

test("what becomes of the traffic of a deployment that goes is told as it will be", async () => {
  const dialog = page.getByRole("dialog");
  const both = await show(<Asked Dialog={DeleteDialog} traffic={{ blue: 50, green: 50 }} />);
  await expect.element(dialog).toHaveTextContent("blue receives 50 % of the traffic. From then on those requests go to green.");
  await both.unmount();
  const alone = await show(<Asked Dialog={DeleteDialog} traffic={{ blue: 100, green: 0 }} />);
  await expect.element(dialog).toHaveTextContent("Those requests will be refused");
  await alone.unmount();
  await show(<Asked Dialog={PauseDialog} traffic={{ blue: 50, green: 50 }} />);
  await expect.element(dialog).toHaveTextContent("Those requests will be refused");
});

function Updated() {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const [blue] = data?.deployments ?? [];
  return blue ? <UpdateDialog endpoint="resnet50-prod" deployment={blue} opened onClose={() => undefined} /> : null;
}

test("an update that changes nothing offers no button; one that does, says what runs then", async () => {
  await show(<Updated />);
  const dialog = page.getByRole("dialog", { name: "Update blue" });
  await expect.element(dialog.getByRole("status")).toHaveTextContent(/^Nothing to change: blue runs resnet50 v\d+ with this configuration/);
  expect(dialog.getByRole("button", { name: /^Run / }).elements()).toHaveLength(0);
  expect(dialog.getByRole("button", { name: "Nothing to change" }).elements()).toHaveLength(0);
  await dialog.getByRole("combobox", { name: /^Version of/ }).click();
  await page.getByRole("option").filter({ hasNotText: "runs now" }).first().click();
  await expect.element(dialog.getByRole("button", { name: /^Run resnet50 v\d+$/ })).toBeEnabled();
});

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { endpointQuery, setTraffic } from "@/api/endpoints";
import { keys } from "@/api/keys";
import type { Endpoint } from "@/api/types";
import { makeQueryClient } from "@/app/query-client";
import { show } from "@/testing/show";
import { type Offer, TrafficEditor, useTrafficControl } from "./traffic-control";

function Editor({ endpoint, offer }: { endpoint: Endpoint; offer?: Offer | undefined }) {
  const control = useTrafficControl(endpoint, { offer });
  return (
    <>
      <TrafficEditor control={control} />
      <button type="button" disabled={!control.changed || !control.valid} onClick={control.apply}>
        Apply
      </button>
      <button type="button" onClick={control.reset}>
        Reset
      </button>
      <p>Served: {JSON.stringify(endpoint.traffic)}</p>
      {control.dialog}
    </>
  );
}

/** Beside the editor, somebody else: what they move is told at once, or only found out by who applies. */
function Shared({ told, blue }: { told: boolean; blue: number }) {
  const queryClient = useQueryClient();
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const move = async () => {
    if (!data) return;
    const moved = await setTraffic("resnet50-prod", { blue, green: 100 - blue }, data.etag);
    if (told) queryClient.setQueryData(keys.endpoints.one("resnet50-prod"), moved);
  };
  return (
    <>
      <Loaded />
      <button type="button" onClick={() => void move()}>
        Somebody moves
      </button>
    </>
  );
}

/** The endpoint of the made-up installation, with a third deployment where one is asked for. */
function Loaded({ third, offer }: { third?: string; offer?: Offer }) {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const [first] = data?.deployments ?? [];
  if (!data || !first) return null;
  const shown = third ? { ...data, deployments: [...data.deployments, { ...first, name: third }] } : data;
  return <Editor endpoint={shown} offer={offer} />;
}

beforeEach(async () => {
  const { etag } = await makeQueryClient().fetchQuery(endpointQuery("resnet50-prod"));
  await setTraffic("resnet50-prod", { blue: 80, green: 20 }, etag);
});

const slider = page.getByRole("slider", { name: "Traffic of blue in per cent" });
const exact = page.getByRole("textbox", { name: "Traffic of blue" });
const preset = (share: number) => page.getByRole("button", { name: `${share} %`, exact: true });
const apply = page.getByRole("button", { name: "Apply", exact: true });

test("the slider goes by ones and tens, ends at its ends, and number and presets follow", async () => {
  await show(<Loaded />);
  await expect.element(slider).toHaveAttribute("aria-valuenow", "80");
  await expect.element(apply).toBeDisabled();
  slider.element().focus();
  await userEvent.keyboard("{PageDown}");
  await expect.element(exact).toHaveValue("70 %");
  await userEvent.keyboard("{ArrowLeft}{ArrowLeft}");
  await expect.element(exact).toHaveValue("68 %");
  await userEvent.keyboard("{PageUp}{PageUp}{PageUp}{PageUp}");
  await expect.element(slider).toHaveAttribute("aria-valuenow", "100");
  await expect.element(preset(0)).toHaveAttribute("aria-pressed", "true");
  await preset(25).click();
  await expect.element(slider).toHaveAttribute("aria-valuenow", "75");
  await userEvent.fill(exact, "40");
  await expect.element(slider).toHaveAttribute("aria-valuenow", "40");
  await page.getByRole("button", { name: "Reset" }).click();
  await expect.element(slider).toHaveAttribute("aria-valuenow", "80");
});

test("a share that is typed over another is that share", async () => {
  await show(<Loaded />);
  await userEvent.clear(exact);
  await userEvent.keyboard("5");
  await expect.element(exact).toHaveValue("5 %");
  await expect.element(slider).toHaveAttribute("aria-valuenow", "5");
});

test("the thumb is pulled to the middle of the track", async () => {
  await show(<Loaded />);
  await expect.element(slider).toBeVisible();
  const track = page.getByRole("slider").element().parentElement;
  if (!track) throw new Error("The thumb has no track.");
  const { width } = track.getBoundingClientRect();
  await userEvent.dragAndDrop(slider, page.elementLocator(track), { targetPosition: { x: width / 2, y: 1 } });
  await expect.poll(() => Math.abs(Number(slider.element().getAttribute("aria-valuenow")) - 50)).toBeLessThan(3);
});

test("three deployments have numbers, which must total 100", async () => {
  await show(<Loaded third="canary" />);
  await userEvent.fill(page.getByRole("textbox", { name: "canary" }), "10");
  await expect.element(page.getByText("Total 110 %, must be 100 %")).toBeVisible();
  await expect.element(apply).toBeDisabled();
  await userEvent.fill(page.getByRole("textbox", { name: "green" }), "10");
  await expect.element(page.getByText("Total 100 %", { exact: true })).toBeVisible();
  await expect.element(apply).toBeEnabled();
});

test("what has answered next to nothing so far is named before it gets more", async () => {
  await show(<Loaded third="canary" />);
  await userEvent.fill(page.getByRole("textbox", { name: "canary" }), "10");
  await userEvent.fill(page.getByRole("textbox", { name: "green" }), "10");
  await apply.click();
  const dialog = page.getByRole("dialog", { name: "Move traffic" });
  await expect.element(dialog.getByText(/^canary answered fewer than 20 requests/)).toBeVisible();
});

test("a role that may not deploy is told so and moves nothing", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<Loaded />);
  await expect.element(page.getByText(/role deployer/)).toBeVisible();
  await expect.element(exact).toBeDisabled();
  await expect.element(preset(50)).toBeDisabled();
});

test("what is applied says first how many requests move, then is served", async () => {
  await show(<Loaded />);
  await preset(50).click();
  await apply.click();
  const dialog = page.getByRole("dialog", { name: "Move traffic" });
  await expect.element(dialog.getByText(/\(30 %\) move to green/)).toBeVisible();
  await dialog.getByRole("button", { name: "Apply 50 / 50" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(page.getByText('Served: {"blue":50,"green":50}')).toBeVisible();
  await expect.element(apply).toBeDisabled();
});

test("a share that is offered is asked about at once, and once", async () => {
  await show(<Loaded offer={{ give: "green", share: 35 }} />);
  const dialog = page.getByRole("dialog", { name: "Move traffic" });
  await expect.element(dialog.getByRole("button", { name: "Apply 65 / 35" })).toBeVisible();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(exact).toHaveValue("65 %");
  await page.getByRole("button", { name: "Reset" }).click();
  await expect.element(exact).toHaveValue("80 %");
});

test.each([
  ["that it has already", { give: "green", share: 20 }],
  ["of a deployment that is gone", { give: "teal", share: 10 }],
])("nothing is asked about a share %s", async (_, offer) => {
  await show(<Loaded offer={offer} />);
  await expect.element(exact).toHaveValue("80 %");
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
});

const others = page.getByRole("button", { name: "Somebody moves" });
const conflict = page.getByRole("alert").filter({ hasText: "You were about to make it 95 / 5" });

test("what others move while one edits is told, and the edit stays", async () => {
  await show(<Shared told blue={40} />);
  await preset(5).click();
  await others.click();
  await expect.element(conflict).toHaveTextContent(/Changed by .+: 80 \/ 20 is now 40 \/ 60\. You were about to make it 95 \/ 5\./);
  await expect.element(exact).toHaveValue("95 %");
  await page.getByRole("button", { name: "Leave it at 40 / 60" }).click();
  await expect.element(conflict).not.toBeInTheDocument();
  await expect.element(exact).toHaveValue("40 %");
  await expect.element(apply).toBeDisabled();
});

test("nothing is moved over others' change before one has seen it", async () => {
  await show(<Shared told={false} blue={70} />);
  await preset(5).click();
  await others.click();
  await apply.click();
  const dialog = page.getByRole("dialog", { name: "Move traffic" });
  const confirm = dialog.getByRole("button", { name: /^Apply 95/ });
  await confirm.click();
  await expect.element(conflict).toBeVisible();
  await expect.element(confirm).toBeDisabled();
  await expect.element(page.getByText('Served: {"blue":70,"green":30}')).toBeVisible();
  await dialog.getByRole("button", { name: "Go on with mine, 95 / 5" }).click();
  await expect.element(dialog.getByText(/\(25 %\) move to blue/)).toBeVisible();
  await confirm.click();
  await expect.element(page.getByText('Served: {"blue":95,"green":5}')).toBeVisible();
});

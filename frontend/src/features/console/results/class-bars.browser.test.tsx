import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { AllClasses, BestClasses } from "./class-bars";

const COUNT = 5_000;
/** The last class is the best, and so on down. */
const VALUES = Float32Array.from({ length: COUNT }, (_, index) => index / COUNT);
const LABELS = Array.from({ length: COUNT }, (_, index) => `species ${index}`);

const box = page.getByRole("group", { name: "All classes, best first" });
const rows = box.getByRole("listitem");
const search = page.getByRole("textbox", { name: "Find a class" });

test("of 5,000 classes the best are in view, few exist, and the worst are reached by keys", async () => {
  await show(<AllClasses values={VALUES} labels={LABELS} probabilities />);
  await expect.element(rows.first()).toHaveTextContent(`species ${COUNT - 1}`);
  await expect.element(rows.first()).toHaveAttribute("aria-posinset", "1");
  expect(rows.elements().length).toBeLessThan(60);
  await expect.element(page.getByText("species 0", { exact: true })).not.toBeInTheDocument();
  await userEvent.tab();
  await userEvent.tab();
  await expect.element(box).toHaveFocus();
  await userEvent.keyboard("{End}");
  await expect.element(box.getByText("species 0", { exact: true })).toBeInViewport();
  expect(rows.elements().length).toBeLessThan(60);
});

test("a class is found by name or number, with its rank among those found", async () => {
  await show(<AllClasses values={VALUES} labels={LABELS} probabilities />);
  await userEvent.fill(search, "species 42");
  await expect.element(page.getByRole("status")).toHaveTextContent("111 of 5,000 classes");
  await expect.element(rows.first()).toHaveTextContent("species 4299");
  await expect.element(rows.first()).toHaveAttribute("aria-setsize", "111");
  await userEvent.fill(search, "whale");
  await expect.element(page.getByText("No class is called so.")).toBeVisible();
});

test("bars are as long as their share; a long name is cut and lies over nothing", async () => {
  const labels = ["a", "a name that is far too long for the column that it stands in ".repeat(4)];
  await show(
    <div style={{ width: 400 }}>
      <BestClasses values={[0.25, 0.75]} labels={labels} probabilities few={2} />
    </div>,
  );
  const items = page.getByRole("list", { name: "Classes" }).getByRole("listitem");
  await expect.element(items.first()).toHaveTextContent(/75/);
  const parts = items.first().element().children;
  const [label, track] = [parts[0], parts[1]].map((part) => part?.getBoundingClientRect());
  const fill = parts[1]?.firstElementChild?.getBoundingClientRect();
  if (!label || !track || !fill) throw new Error("A bar has a name, a track and its length.");
  expect(label.right).toBeLessThanOrEqual(track.left);
  expect(fill.width / track.width).toBeCloseTo(0.75, 1);
});

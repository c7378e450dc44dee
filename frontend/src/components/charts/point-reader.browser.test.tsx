import axe from "axe-core";
import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { PointReader, type ReadPoint } from "./point-reader";

const POINTS: ReadPoint[] = ["b", "d", "f"].map((key) => ({ key, words: `point ${key}` }));

function View({ first = POINTS, pick }: { first?: ReadPoint[]; pick?: (key: string) => void }) {
  const [points, setPoints] = useState(first);
  return (
    <>
      <PointReader title="Curve" points={points} {...(pick ? { onPick: pick } : {})}>
        {(read) => <output>{read ?? "nothing"}</output>}
      </PointReader>
      {/* why no click: pressing takes the focus from the chart. */}
      <i data-testid="measured" onInput={() => setPoints([{ key: "a", words: "point a" }, ...points])} />
    </>
  );
}

const stop = page.getByRole("application", { name: "Curve, read by arrow keys" });
const read = page.getByRole("status");
const said = () => stop.element().querySelector("[aria-live=polite]")?.textContent;
const press = async (keys: string) => {
  (stop.element() as HTMLElement).focus();
  await userEvent.keyboard(keys);
};

test.each([
  ["{ArrowLeft}", "f"],
  ["{ArrowLeft}{ArrowLeft}", "d"],
  ["{ArrowRight}", "b"],
  ["{ArrowRight}{ArrowRight}", "d"],
  ["{Home}", "b"],
  ["{Home}{End}", "f"],
  ["{End}{Shift>}{ArrowLeft}{/Shift}", "b"],
  ["{End}{ArrowRight}", "f"],
])("%s reads %s, and says it", async (keys, key) => {
  await show(<View />);
  await expect.element(read).toHaveTextContent("nothing");
  await press(keys);
  await expect.element(read).toHaveTextContent(key);
  expect(said()).toBe(`point ${key}`);
});

test("it is left by Escape, and by Tab; the point that is read stays while others come", async () => {
  await show(<View />);
  await press("{Home}{Escape}");
  await expect.element(read).toHaveTextContent("nothing");
  expect(said()).toBe("");
  await press("{Home}");
  page
    .getByTestId("measured")
    .element()
    .dispatchEvent(new InputEvent("input", { bubbles: true }));
  await expect.element(read).toHaveTextContent("b");
  await press("{ArrowLeft}");
  await expect.element(read).toHaveTextContent("a");
  await userEvent.tab();
  await expect.element(read).toHaveTextContent("nothing");
});

test("keys that do nothing are the page's: Escape where nothing is read, Enter where nothing can be picked", async () => {
  const passed: string[] = [];
  const listen = (event: KeyboardEvent) => passed.push(event.key);
  document.addEventListener("keydown", listen);
  await show(<View />);
  await press("{Escape}{Home}{Enter}g");
  document.removeEventListener("keydown", listen);
  expect(passed).toEqual(["Escape", "Enter", "g"]);
});

test("Enter picks the point that is read", async () => {
  const picked: string[] = [];
  await show(<View pick={(key) => picked.push(key)} />);
  await press("{Enter}{Home}{Enter}{ArrowRight}{Enter}");
  expect(picked).toEqual(["b", "d"]);
});

test("a picture without points is no tab stop", async () => {
  await show(<View first={[]} />);
  await expect.element(read).toHaveTextContent("nothing");
  await expect.element(stop).not.toBeInTheDocument();
});

test("axe has nothing to say", async () => {
  const { container } = await show(<View />);
  await press("{Home}");
  await expect.element(read).toHaveTextContent("b");
  const { violations } = await axe.run(container);
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
});

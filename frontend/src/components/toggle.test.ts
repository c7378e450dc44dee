import { expect, it } from "vitest";
import { makeToggle } from "./toggle";

it("tells listeners of changes only, until they leave", () => {
  const toggle = makeToggle();
  const seen: boolean[] = [];
  const leave = toggle.subscribe(() => seen.push(toggle.isOpen()));
  toggle.open();
  toggle.open();
  toggle.close();
  leave();
  toggle.open();
  expect(seen).toEqual([true, false]);
});

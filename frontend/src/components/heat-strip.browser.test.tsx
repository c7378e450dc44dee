import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { nodesQuery } from "@/api/nodes";
import { show } from "@/testing/show";
import { HeatStrip } from "./heat-strip";

function Strip() {
  const { data } = useQuery({ ...nodesQuery(), refetchInterval: false });
  return data ? <HeatStrip nodes={data.items} /> : null;
}

test("all cells are one stop of the Tab key, and arrows walk over them", async () => {
  await show(
    <>
      <button type="button">Before</button>
      <Strip />
      <button type="button">Behind</button>
    </>,
  );
  const links = page.getByRole("list").getByRole("link");
  await expect.poll(() => links.elements().length).toBeGreaterThan(1);
  page.getByRole("button", { name: "Before" }).element().focus();
  await userEvent.tab();
  await expect.element(links.first()).toHaveFocus();
  await userEvent.keyboard("{ArrowRight}");
  await expect.element(links.nth(1)).toHaveFocus();
  await userEvent.tab();
  await expect.element(page.getByRole("button", { name: "Behind" })).toHaveFocus();
  await userEvent.tab({ shift: true });
  await expect.element(links.nth(1)).toHaveFocus();
  await userEvent.keyboard("{End}{Home}");
  await expect.element(links.first()).toHaveFocus();
});

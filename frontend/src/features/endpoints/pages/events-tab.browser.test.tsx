import { useState } from "react";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { EndpointEvents } from "./events-tab";

function Events({ linked }: { linked?: number }) {
  const [chosen, setChosen] = useState(linked);
  return <EndpointEvents name="resnet50-prod" kind="all" onKind={() => undefined} chosen={chosen} onChoose={setChosen} />;
}

const older = page.getByRole("button", { name: "Older events" });
const rows = page.getByRole("list").getByRole("listitem");

test("older events come page by page, to the first", async () => {
  await show(<Events />);
  await expect.poll(() => rows.elements().length).toBe(100);
  for (let read = 200; read <= 700; read += 100) {
    await older.click();
    await expect.poll(() => rows.elements().length).toBe(read);
  }
  await older.click();
  await expect.element(page.getByText("maria looked at the keys (699)")).toBeInTheDocument();
  await expect.element(older).not.toBeInTheDocument();
});

test("a link to an old event reads on until it is there, and opens it", async () => {
  await show(<Events linked={150} />);
  await expect.element(page.getByRole("button", { name: /Traffic set to blue 80, green 20 .650./, expanded: true })).toBeInViewport();
  await expect.element(page.getByRole("table", { name: "Before and after" })).toBeVisible();
});

import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { answerBy } from "@/testing/answers";
import { showStudio } from "@/testing/show";

/** Answers no lines, and tells the times that were asked for. */
function asking(): URLSearchParams[] {
  const asked: URLSearchParams[] = [];
  answerBy(({ url }) => {
    const { pathname, searchParams } = new URL(url);
    if (!pathname.endsWith("/logs")) return undefined;
    asked.push(searchParams);
    return Response.json({ lines: [], last_id: null });
  });
  return asked;
}

test("typed times are looked for by the server, and stand in the address", async () => {
  const asked = asking();
  const router = await showStudio("/endpoints/digits/logs");
  const from = page.getByRole("textbox", { name: /^From/ });
  await expect.element(from).toBeVisible();
  expect(asked.at(-1)?.has("since")).toBe(false);

  await userEvent.fill(from, "2026-01-02T03:04:05Z");
  await userEvent.fill(page.getByRole("textbox", { name: /^To/ }), "2026-01-02T04:00:00Z");
  await userEvent.click(page.getByRole("button", { name: "Show", exact: true }));
  await expect.element(page.getByText("All lines that are kept of these times were searched.")).toBeVisible();
  expect([asked.at(-1)?.get("since"), asked.at(-1)?.get("until")]).toEqual(["2026-01-02T03:04:05.000Z", "2026-01-02T04:00:00.000Z"]);
  expect(router.state.location.search).toMatchObject({ range: "1767323045..1767326400" });

  await userEvent.click(page.getByRole("button", { name: "Any time" }));
  await expect.element(page.getByText("No log lines yet")).toBeVisible();
  expect(asked.at(-1)?.has("since")).toBe(false);
});

test("an address with times asks for them at once", async () => {
  const asked = asking();
  await showStudio("/endpoints/digits/logs?range=1767323045..1767326400");
  await expect.element(page.getByText("No line matches the filter")).toBeVisible();
  expect(asked[0]?.get("since")).toBe("2026-01-02T03:04:05.000Z");
});

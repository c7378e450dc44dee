import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { Lineage } from "@/api/types";
import { answerBy, answerWith } from "@/testing/answers";
import { show } from "@/testing/show";
import { LINEAGE } from "@/testing/uploads";
import { LineageCard } from "./lineage-card";

const answerChange = (status: number, body: object) => answerWith("PATCH", "/models/digits/versions/3", status, body);

const versionWith = (lineage: Partial<Lineage> | null) => ({
  model: "digits",
  version: 3,
  etag: 'W/"first"',
  lineage: lineage && { ...LINEAGE, stated_by: "ada", stated_at: "2026-01-01T10:00:00Z", ...lineage },
});

test("only addresses of the web are links, and nothing is read as HTML", async () => {
  const version = versionWith({
    address: "s3://bucket/net",
    run: "train 7",
    run_url: "https://runs.test/7",
    dataset: "<img src=x onerror=alert(1)>",
    stated: ["address", "run", "run_url", "dataset"],
  });
  await show(<LineageCard version={version} />);
  const run = page.getByRole("link", { name: "train 7" });
  await expect.element(run).toHaveAttribute("href", "https://runs.test/7");
  await expect.element(run).toHaveAttribute("rel", "noopener noreferrer");
  await expect.element(page.getByText("<img src=x onerror=alert(1)>")).toBeVisible();
  await expect.element(page.getByText("s3://bucket/net")).toBeVisible();
  expect(page.getByRole("link").all()).toHaveLength(1);
});

test("what another server lets through is no link all the same", async () => {
  await show(<LineageCard version={versionWith({ run: "x", run_url: "javascript:alert(1)", stated: ["run", "run_url"] })} />);
  await expect.element(page.getByText("x", { exact: true })).toBeVisible();
  expect(page.getByRole("link").all()).toHaveLength(0);
});

test("of an import only what it did not find is asked, and sent", async () => {
  const asked = answerChange(200, versionWith(null));
  const version = versionWith({ kind: "hub", address: "hf://acme/net", commit: "c0ffee", run: "7", stated: ["run"] });
  await show(<LineageCard version={version} />);
  await expect.element(page.getByText("ada: Run")).toBeVisible();
  await userEvent.click(page.getByRole("button", { name: "Edit: Where it comes from" }));
  await expect.element(page.getByLabelText("Run", { exact: true })).toHaveValue("7");
  await expect.element(page.getByLabelText("Commit")).not.toBeInTheDocument();
  await expect.element(page.getByLabelText("Source")).not.toBeInTheDocument();
  await userEvent.fill(page.getByLabelText("Dataset"), " mnist ");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  await expect.poll(() => asked).toEqual([{ lineage: { run: "7", dataset: "mnist" } }]);
});

test("what is wrong is said at its field, before and after it was sent", async () => {
  const asked = answerChange(400, { title: "Bad", detail: "lineage.run: too odd.", code: "BadArgument", field: "lineage.run" });
  await show(<LineageCard version={versionWith(null)} />);
  await expect.element(page.getByText("Nobody said where it comes from.")).toBeVisible();
  await userEvent.click(page.getByRole("button", { name: "Edit: Where it comes from" }));
  await userEvent.fill(page.getByLabelText("Page of the run"), "javascript:alert(1)");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  await expect.element(page.getByText("Expected a link: https://host/path.")).toBeVisible();
  expect(asked).toEqual([]);
  await userEvent.fill(page.getByLabelText("Page of the run"), "");
  await userEvent.fill(page.getByLabelText("Run", { exact: true }), "odd");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  await expect.element(page.getByText("too odd.")).toBeVisible();
  await userEvent.fill(page.getByLabelText("Run", { exact: true }), "plain");
  await expect.element(page.getByText("too odd.")).not.toBeInTheDocument();
});

test("who was not alone is shown what it is now, by whom, and writes over it only by saying so", async () => {
  const tags: (string | null)[] = [];
  answerBy((request) => {
    if (request.method !== "PATCH") return undefined;
    tags.push(request.headers.get("If-Match"));
    if (tags.length > 1) return Response.json(versionWith(null));
    const theirs = { ...versionWith({ run: "theirs", stated: ["run"] }), etag: 'W/"second"' };
    return Response.json({ title: "Changed", code: "PreconditionFailed", current: theirs }, { status: 412 });
  });
  await show(<LineageCard version={versionWith({ dataset: "mnist", stated: ["dataset"] })} />);
  await userEvent.click(page.getByRole("button", { name: "Edit: Where it comes from" }));
  await userEvent.fill(page.getByLabelText("Run", { exact: true }), "mine");
  const save = page.getByRole("button", { name: "Save", exact: true });
  await userEvent.click(save);
  await expect.element(page.getByRole("alert")).toHaveTextContent(/Somebody has changed it since you began\..*theirs/);
  await expect.element(page.getByLabelText("Run", { exact: true })).toHaveValue("mine");
  await expect.element(save).toBeDisabled();
  await userEvent.click(page.getByRole("button", { name: "Save mine over it" }));
  await expect.element(save).not.toBeInTheDocument();
  expect(tags).toEqual(['W/"first"', 'W/"second"']);
});

test("where others have changed something else of it, it is saved without a word", async () => {
  const tags: (string | null)[] = [];
  const mine = versionWith({ dataset: "mnist", stated: ["dataset"] });
  answerBy((request) => {
    if (request.method !== "PATCH") return undefined;
    tags.push(request.headers.get("If-Match"));
    if (tags.length > 1) return Response.json(mine);
    return Response.json({ title: "Changed", code: "PreconditionFailed", current: { ...mine, etag: 'W/"second"' } }, { status: 412 });
  });
  await show(<LineageCard version={mine} />);
  await userEvent.click(page.getByRole("button", { name: "Edit: Where it comes from" }));
  await userEvent.fill(page.getByLabelText("Run", { exact: true }), "mine");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  await expect.element(page.getByRole("button", { name: "Save" })).not.toBeInTheDocument();
  expect(tags).toEqual(['W/"first"', 'W/"second"']);
});

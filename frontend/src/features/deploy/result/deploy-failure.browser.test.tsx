import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import type { DeploymentRevision, Operation } from "@/api/types";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import { DeployFailure } from "./deploy-failure";

const revision = (number: number, changes: Partial<DeploymentRevision>): DeploymentRevision =>
  ({ number, model: "digits", version: number, succeeded: false, current: false, ...changes }) as DeploymentRevision;

const FAILED = {
  id: "1",
  kind: "deploy",
  endpoint: "digits",
  deployment: "blue",
  state: "Failed",
  stages: [],
  error: { code: "ModelLoadFailed", message: "It does not load.", hints: [] },
} as unknown as Operation;

let revisions: DeploymentRevision[] = [];

beforeEach(() => {
  answerBy(({ url }) => (url.endsWith("/revisions") ? Response.json({ items: revisions }) : undefined));
});

const failure = <DeployFailure operation={FAILED} onRetry={() => undefined} retrying={false} retryFailure={null} />;

test("a change that failed beside what serves offers no way to remove that", async () => {
  revisions = [revision(2, {}), revision(1, { succeeded: true, current: true })];
  await show(failure);
  await expect.element(page.getByText("blue is as it was before: revision 1, digits version 1.")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Remove blue" })).not.toBeInTheDocument();
  await expect
    .element(page.getByRole("link", { name: "Fix the configuration" }))
    .toHaveAttribute("href", expect.stringContaining("version=2"));
});

test("one that took the place of what served goes back", async () => {
  revisions = [revision(2, { current: true }), revision(1, { succeeded: true })];
  await show(failure);
  await expect.element(page.getByRole("button", { name: "Roll back to revision 1" })).toBeVisible();
});

test("one that never came up can go", async () => {
  revisions = [revision(1, { current: true })];
  await show(failure);
  await expect.element(page.getByRole("button", { name: "Remove blue" })).toBeVisible();
});

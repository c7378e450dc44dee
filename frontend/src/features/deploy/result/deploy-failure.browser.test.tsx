import { beforeEach, expect, test, vi } from "vitest";
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

const failure = <DeployFailure operation={FAILED} onRetry={() => Promise.resolve()} retrying={false} retryFailure={null} />;

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

test("where golden cases are answered otherwise it goes on once somebody says so", async () => {
  const onRetry = vi.fn(() => Promise.resolve());
  const operation = {
    ...FAILED,
    stages: [{ name: "golden", title: "Ask golden cases", status: "failed", detail: "" }],
    error: {
      code: "GoldenCasesFailed",
      message: "Revision 2 of blue answers 1 of 1 golden cases otherwise.",
      detail: "'eight' of digits, scores 3 of 10 values differ",
    },
  } as unknown as Operation;
  await show(<DeployFailure operation={operation} onRetry={onRetry} retrying={false} retryFailure={null} />);
  await expect.element(page.getByText("'eight' of digits, scores 3 of 10 values differ")).toBeVisible();
  await page.getByRole("button", { name: "Go on without golden cases" }).click();
  expect(onRetry).not.toHaveBeenCalled();
  await page.getByRole("button", { name: "Go on", exact: true }).click();
  await expect.poll(() => onRetry.mock.calls).toEqual([[{ skipGolden: true }]]);
});

test("what failed for another reason is only tried again", async () => {
  await show(failure);
  await expect.element(page.getByRole("button", { name: "Retry" })).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Go on without golden cases" })).not.toBeInTheDocument();
});

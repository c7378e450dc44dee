import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { Upload } from "@/api/types";
import { answerWith } from "@/testing/answers";
import { show } from "@/testing/show";
import { LINEAGE, UPLOAD } from "@/testing/uploads";
import { ImportCard } from "./import-card";
import { InspectStep } from "./inspect-step";

const IMPORT: Upload = {
  ...UPLOAD,
  filename: "digits",
  size: 4_194_304,
  offset: 1_048_576,
  state: "fetching",
  steps: [
    { name: "fetch", title: "Fetch the files", status: "running", detail: "", started_at: "2026-01-01T10:00:00Z", ended_at: null },
    { name: "verify", title: "Check the bytes", status: "pending", detail: "", started_at: null, ended_at: null },
  ],
  lineage: { ...LINEAGE, kind: "hub", address: "hf://acme/digits", commit: "c0ffee", dataset: "mnist" },
};
/** What the server answers to an import. */
const answerImport = (status: number, body: object) => answerWith("POST", "/api/v1/imports", status, body);

test("an address is sent as it was typed, without spaces around it", async () => {
  const asked = answerImport(202, IMPORT);
  const begun: string[] = [];
  await show(<ImportCard onImport={({ id }) => begun.push(id)} />);
  await expect.element(page.getByRole("button", { name: "Import" })).toBeDisabled();
  await userEvent.type(page.getByLabelText("Address"), " hf://acme/digits{Enter}");
  await expect.poll(() => begun).toEqual(["u1"]);
  expect(asked).toEqual([{ address: "hf://acme/digits" }]);
});

test("why an address is refused stands at the field, until it is changed", async () => {
  answerImport(400, { title: "Bad", detail: "address: its scheme is none of https.", code: "BadArgument", field: "address" });
  await show(<ImportCard onImport={() => expect.unreachable()} />);
  await userEvent.type(page.getByLabelText("Address"), "file:///x{Enter}");
  await expect.element(page.getByText("its scheme is none of https.")).toBeVisible();
  await expect.element(page.getByLabelText("Address")).toHaveAttribute("aria-invalid", "true");
  await userEvent.type(page.getByLabelText("Address"), "y");
  await expect.element(page.getByText("its scheme is none of https.")).not.toBeInTheDocument();
});

test("what is refused for another reason is told, too", async () => {
  answerImport(409, { title: "Too many uploads", detail: "You have 100 unfinished uploads.", code: "TooManyUploads" });
  await show(<ImportCard onImport={() => expect.unreachable()} />);
  await userEvent.type(page.getByLabelText("Address"), "hf://a/b{Enter}");
  await expect.element(page.getByText("You have 100 unfinished uploads.")).toBeVisible();
});

test("an import that failed is told apart from a file that cannot be served", async () => {
  const [fetch] = IMPORT.steps;
  const steps: Upload["steps"] = fetch ? [{ ...fetch, status: "failed" }] : [];
  const error = { code: "ImportDenied", message: "hub.test answered 403.", detail: "", hints: [] };
  const nothing = () => undefined;
  await show(
    <InspectStep
      upload={{ ...IMPORT, state: "failed", steps, error }}
      source={null}
      addition={{ kept: false, add: nothing }}
      onBack={nothing}
      onForward={nothing}
      onCancel={nothing}
    />,
  );
  await expect.element(page.getByText("hub.test answered 403.")).toBeVisible();
  await expect.element(page.getByText("Nothing was imported.")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Cancel import" })).not.toBeInTheDocument();
});

test("an import shows its bytes and where it is from, and can be cancelled", async () => {
  let canceled = 0;
  const nothing = () => undefined;
  await show(
    <InspectStep
      upload={IMPORT}
      source={null}
      addition={{ kept: false, add: nothing }}
      onBack={nothing}
      onForward={nothing}
      onCancel={() => (canceled += 1)}
    />,
  );
  await expect.element(page.getByText("1.00 MiB of 4.00 MiB")).toBeVisible();
  await expect.element(page.getByRole("progressbar", { name: "Fetch the files" })).toHaveAttribute("aria-valuenow", "25");
  await expect.element(page.getByText("hf://acme/digits")).toBeVisible();
  await expect.element(page.getByText("mnist")).toBeVisible();
  await expect.element(page.getByText("Revision")).not.toBeInTheDocument();
  await userEvent.click(page.getByRole("button", { name: "Cancel import" }));
  expect(canceled).toBe(1);
});

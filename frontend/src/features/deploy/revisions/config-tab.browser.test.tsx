import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { modelVersionQuery } from "@/api/models";
import { show } from "@/testing/show";
import { ConfigEditor } from "./config-tab";

/** A version in the editor, and somebody else who saves a revision of it. */
function Shared() {
  const { data } = useQuery(modelVersionQuery("resnet50", 8));
  const [saved, setSaved] = useState(false);
  if (!data) return null;
  const [model] = data.repo_models;
  const text = (model?.config_text ?? "").replace("max_batch_size: 64", "max_batch_size: 8");
  const revision = {
    number: 1,
    base: 0,
    configs: { [model?.name ?? ""]: text },
    message: "eight is enough",
    author: "bob",
    created_at: "2026-11-25T12:00:00Z",
  };
  return (
    <>
      <Link to="/endpoints">Go elsewhere</Link>
      <button type="button" onClick={() => setSaved(true)}>
        Somebody saves
      </button>
      <ConfigEditor
        version={saved ? { ...data, config_revisions: [revision], config_etag: 'W/"1"' } : data}
        wanted={undefined}
        of={undefined}
      />
    </>
  );
}

const batch = page.getByRole("textbox", { name: "Max batch size" });
const told = page.getByRole("alert", { name: "Saved meanwhile" });
const save = page.getByRole("button", { name: /^Save as revision/ });

test("what others save meanwhile takes nothing away, and is not overwritten unseen", async () => {
  await show(<Shared />);
  await userEvent.fill(batch, "16");
  await expect.element(save).toHaveTextContent("Save as revision 1");
  await page.getByRole("button", { name: "Somebody saves" }).click();
  await expect.element(told).toHaveTextContent(/Changed by bob, .*: revision 1, “eight is enough”/);
  await expect.element(batch).toHaveValue("16");
  await expect.element(save).toBeDisabled();
  await told.getByRole("button", { name: "Look at the difference" }).click();
  await expect.element(page.getByRole("radio", { name: "Revision 1" })).toBeChecked();
  await told.getByRole("button", { name: /^Go on with my changes/ }).click();
  await expect.element(told).not.toBeInTheDocument();
  await expect.element(batch).toHaveValue("16");
  await expect.element(save).toHaveTextContent("Save as revision 2");
  await expect.element(save).toBeEnabled();
});

test("a value of a revision is called one, not a default", async () => {
  await show(<Shared />);
  await page.getByRole("button", { name: "Somebody saves" }).click();
  await told.getByRole("button", { name: "Show revision 1" }).click();
  await expect.element(batch).toHaveValue("8");
  await expect.element(page.getByText("from revision", { exact: true })).toBeVisible();
});

test("who leaves changes that are not saved is asked first, in a dialog of ours", async () => {
  const { address } = await show(<Shared />);
  await userEvent.fill(batch, "16");
  const away = page.getByRole("link", { name: "Go elsewhere" });
  const asked = page.getByRole("dialog", { name: "Changes that are not saved" });
  await away.click();
  await expect.element(asked).toBeVisible();
  await asked.getByRole("button", { name: "Cancel" }).click();
  await expect.element(asked).not.toBeInTheDocument();
  expect(address()).toBe("/");
  await expect.element(batch).toHaveValue("16");
  await away.click();
  await asked.getByRole("button", { name: "Leave without saving" }).click();
  await expect.poll(address).toBe("/endpoints");
});

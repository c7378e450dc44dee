import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { SecondFactorCard } from "./second-factor-card";

const dialog = page.getByRole("dialog");

test("it is set up by password and code, and taken away by both", async () => {
  await show(<SecondFactorCard />);
  await page.getByRole("button", { name: "Set it up" }).click();
  await dialog.getByLabelText("Your password").fill("wrong");
  await userEvent.keyboard("{Enter}");
  await expect.element(dialog.getByText("This is not your password.")).toBeVisible();
  await dialog.getByLabelText("Your password").fill("right");
  await userEvent.keyboard("{Enter}");
  await expect.element(dialog.getByAltText("QR code of the secret")).toBeVisible();
  await expect.element(dialog.getByText("JBSWY3DPEHPK3PXP")).toBeVisible();
  const code = dialog.getByLabelText("Code that the app shows");
  await expect.element(code).toHaveFocus();
  await code.fill("000000");
  await userEvent.keyboard("{Enter}");
  await expect.element(dialog.getByText("This is not the code that the app shows now.")).toBeVisible();
  await code.fill("123456");
  await userEvent.keyboard("{Enter}");
  await expect.element(dialog.getByRole("list", { name: "Recovery codes" })).toHaveTextContent("k3vq-7mzt-p2xd-n5ah");
  await dialog.getByRole("button", { name: "I have kept them" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(page.getByText("2 recovery codes are left.")).toBeVisible();
  await page.getByRole("button", { name: "Take it away" }).click();
  await dialog.getByLabelText("Your password").fill("right");
  await dialog.getByLabelText("Code of the app, or a recovery code").fill("123456");
  await dialog.getByRole("button", { name: "Take it away" }).click();
  await expect.element(page.getByText("Signing in asks for the password alone.")).toBeVisible();
});

import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { Upload } from "@/api/types";
import { show } from "@/testing/show";
import { UPLOAD } from "@/testing/uploads";
import { InspectStep } from "./inspect-step";

const failed = (code: string): Upload => ({
  ...UPLOAD,
  state: "failed",
  error: { code, message: "The model needs model.onnx.data.", detail: "", hints: [] },
});

function Asked({ upload, kept }: { upload: Upload; kept: boolean }) {
  const [said, say] = useState("");
  return (
    <>
      <InspectStep
        upload={upload}
        source={null}
        addition={{ kept, add: (files) => say(files.map(({ path }) => path).join(", ")) }}
        onBack={() => {}}
        onForward={() => {}}
      />
      <p>Added: {said}</p>
    </>
  );
}

test("what a graph lacks is added where it is asked for", async () => {
  await show(<Asked upload={failed("ExternalDataMissing")} kept />);
  await expect.element(page.getByRole("button", { name: "Add the missing file" })).toBeVisible();
  await userEvent.upload(page.getByLabelText("Missing file"), new File(["w"], "model.onnx.data"));
  await expect.element(page.getByText("Added: model.onnx.data")).toBeVisible();
});

test("who has loaded the page anew chooses all of the files", async () => {
  await show(<Asked upload={failed("ExternalDataMissing")} kept={false} />);
  await expect.element(page.getByRole("button", { name: "Choose the model and its data together" })).toBeVisible();
});

test("nothing can be added to a file that fails for another reason", async () => {
  await show(<Asked upload={failed("NotAModel")} kept />);
  await expect.element(page.getByRole("alert")).toBeVisible();
  await expect.element(page.getByRole("button", { name: /Add|together/ })).not.toBeInTheDocument();
});

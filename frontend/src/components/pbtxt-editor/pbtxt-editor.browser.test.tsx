import { useRef, useState } from "react";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import type { TextProblem } from "./diagnostics";
import { PbtxtEditor, type PbtxtEditorHandle } from "./pbtxt-editor";

const LONG = Array.from({ length: 200 }, (_, line) => `parameters { key: "${line + 1}" }`).join("\n");

interface EditorProps {
  start: string;
  problems?: TextProblem[];
  original?: string;
  readOnly?: boolean;
  onSubmit?: () => void;
}

function Editor({ start, problems, ...rest }: EditorProps) {
  const [value, setValue] = useState(start);
  const handle = useRef<PbtxtEditorHandle>(null);
  return (
    <>
      <div style={{ height: 240 }}>
        <PbtxtEditor ref={handle} label="config.pbtxt" value={value} onChange={setValue} {...(problems ? { problems } : {})} {...rest} />
      </div>
      <button type="button" onClick={() => handle.current?.goTo(150, 13)}>
        Go to line 150
      </button>
      <button type="button" onClick={() => setValue(value.replace("max_batch_size: 8", "max_batch_size: 16"))}>
        Sixteen
      </button>
      <pre aria-label="Value">{value}</pre>
    </>
  );
}

const editor = page.getByRole("textbox", { name: "config.pbtxt" });
const value = () => page.getByLabelText("Value", { exact: true }).element().textContent;

test("what is typed is heard, and undone by Ctrl Z", async () => {
  await show(<Editor start={'name: "a"'} />);
  await editor.click();
  await userEvent.keyboard("{Control>}{End}{/Control}{Enter}backend: 1");
  await expect.poll(value).toBe('name: "a"\nbackend: 1');
  await userEvent.keyboard("{Control>}z{/Control}");
  await expect.poll(value).toBe('name: "a"');
});

test("a change from outside keeps the cursor where it is", async () => {
  await show(<Editor start={'max_batch_size: 8\nname: "a"'} />);
  await editor.click();
  await userEvent.keyboard("{Control>}{End}{/Control}{Home}");
  await page.getByRole("button", { name: "Sixteen" }).click();
  await expect.element(editor).toHaveTextContent("max_batch_size: 16");
  editor.element().focus();
  await userEvent.keyboard("!");
  await expect.poll(value).toBe('max_batch_size: 16\n!name: "a"');
});

test("Ctrl Enter submits and writes nothing", async () => {
  const onSubmit = vi.fn();
  await show(<Editor start="name" onSubmit={onSubmit} />);
  await editor.click();
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  expect(onSubmit).toHaveBeenCalledTimes(1);
  expect(value()).toBe("name");
});

test("a problem leads to its line, with the cursor in it", async () => {
  await show(<Editor start={LONG} />);
  await expect.element(editor).toBeVisible();
  await page.getByRole("button", { name: "Go to line 150" }).click();
  await expect.element(editor).toHaveFocus();
  await userEvent.keyboard("#");
  await expect.poll(() => value().split("\n")[149]).toBe('parameters {# key: "150" }');
});

test("a problem is told where the pointer rests on its mark", async () => {
  await show(
    <Editor
      start={'name: "a"\nmax_batch_size: -1'}
      problems={[{ severity: "error", line: 2, column: 17, message: "must not be negative" }]}
    />,
  );
  await userEvent.hover(page.getByText("-1").first());
  await expect.element(page.getByText("must not be negative")).toBeVisible();
});

test("read only takes no key", async () => {
  await show(<Editor start="name" readOnly />);
  await editor.click();
  await userEvent.keyboard("x");
  expect(value()).toBe("name");
  await expect.element(editor).toHaveTextContent("name");
});

test("the difference to another text shows what was there", async () => {
  await show(<Editor start="max_batch_size: 8" original="max_batch_size: 4" />);
  await expect.element(page.getByText("max_batch_size: 4")).toBeVisible();
});

import { describe, expect, test } from "vitest";
import type { Code } from "@/api/types";
import { codeMessage } from "./code-messages";

const code = (state: Code["state"], approvedBy: string | null = null): Code => ({
  state,
  reasons: [{ file: "add/1/model.py", kind: "python", message: "add/1/model.py is Python code." }],
  approved_by: approvedBy,
  approved_at: null,
});

describe("a model that runs code", () => {
  test("says nothing where there is none", () => expect(codeMessage(code("none"), { may: true, registered: true })).toBeNull());
  test("names who approved it", () =>
    expect(codeMessage(code("allowed", "ada"), { may: false, registered: true })?.text).toBe("Approved by ada."));
  test("costs an administrator who brings it nothing", () =>
    expect(codeMessage(code("waiting"), { may: true, registered: false })).toMatchObject({
      tone: "ok",
      text: expect.stringContaining("as soon as you deploy") as string,
    }));
  test.each([
    [false, false, "has approved it"],
    [false, true, "cannot be deployed yet"],
    [true, true, "then approve it"],
  ])("waits in plain words (may %s, registered %s)", (may, registered, words) => {
    const said = codeMessage(code("waiting"), { may, registered });
    expect(said?.tone).toBe("warn");
    expect(said?.text).toContain(words);
  });
  test("is refused where the installation takes none", () =>
    expect(codeMessage(code("refused"), { may: true, registered: false })?.tone).toBe("error"));
});

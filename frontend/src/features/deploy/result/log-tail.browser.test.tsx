import { useState } from "react";
import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import type { LogLine } from "@/api/types";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import { LogTail } from "./log-tail";

const line = (id: number, second: number, text: string): LogLine => ({
  id,
  at: `2026-01-01T10:00:${String(second).padStart(2, "0")}Z`,
  replica_id: "r1",
  stream: "inference-server",
  text,
  level: "",
});

let lines: LogLine[] = [];

beforeEach(() => {
  lines = [line(1, 20, "starting"), line(2, 22, "ready")];
  answerBy(({ url }) => (url.includes("/logs") ? Response.json({ lines }) : undefined));
});

function Ending() {
  const [unfinished, setUnfinished] = useState(true);
  return (
    <>
      <button type="button" onClick={() => setUnfinished(false)}>
        End
      </button>
      <LogTail endpoint="digits" deployment="blue" unfinished={unfinished} />
    </>
  );
}

const log = page.getByRole("log");

test("lines stand in the order of their time, whatever stream came first", async () => {
  lines.push(line(3, 21, "linked the files"));
  await show(<LogTail endpoint="digits" deployment="blue" unfinished={false} />);
  await expect.element(log).toHaveTextContent(/starting.*linked the files.*ready/);
});

test("what was written before the end and comes after it is shown", async () => {
  await show(<Ending />);
  await expect.element(log).toHaveTextContent(/ready$/);
  await page.getByRole("button", { name: "End" }).click();
  lines.push(line(3, 23, "first request"));
  await expect.element(log).toHaveTextContent(/first request$/);
});

import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import { useLogLines } from "./use-log-lines";

let asked: URLSearchParams[] = [];
/** Told to go on, by what was asked for: an answer that takes its time. */
let held: Map<string, () => void>;

const TEXTS = Array.from({ length: 2_500 }, (_, index) => (index % 1_000 === 0 ? `out of memory ${index}` : `line ${index}`));

/** A server that keeps 2,500 lines, with ids from 1. */
function serve(slow: string[] = []) {
  asked = [];
  held = new Map();
  answerBy(async ({ url }) => {
    const query = new URL(url).searchParams;
    asked.push(query);
    const name = query.has("before") ? "before" : (query.get("q") ?? "");
    if (slow.includes(name)) await new Promise<void>((resolve) => held.set(name, resolve));
    const after = Number(query.get("after") ?? 0);
    const before = Number(query.get("before") ?? Number.POSITIVE_INFINITY);
    const lines = TEXTS.map((text, index) => ({ id: index + 1, at: "2026-01-01T10:00:00Z", replica_id: "r", stream: "", level: "", text }))
      .filter((line) => line.id > after && line.id < before && line.text.includes(query.get("q") ?? ""))
      .slice(-Number(query.get("tail")));
    return Response.json({ lines, last_id: after < TEXTS.length ? TEXTS.length : null });
  });
}

function Log() {
  const [q, setQ] = useState("");
  const { lines, earlier } = useLogLines("digits", "blue", { q }, false);
  return (
    <>
      <button type="button" onClick={() => setQ("memory")}>
        Search
      </button>
      <button type="button" disabled={earlier === null} onClick={() => void earlier?.()}>
        Earlier
      </button>
      <p>
        {lines.length} lines from {lines[0]?.id}
      </p>
    </>
  );
}

test("what is searched for is looked for in all that is kept, not only behind what was seen", async () => {
  serve();
  await show(<Log />);
  await expect.element(page.getByText("2000 lines from 501")).toBeVisible();
  await userEvent.click(page.getByRole("button", { name: "Search" }));
  await expect.element(page.getByText("3 lines from 1")).toBeVisible();
  expect(asked.find((query) => query.get("q") === "memory")?.has("after")).toBe(false);
});

test("earlier lines come before those that are there, and what is looked at again is only what is new", async () => {
  serve();
  await show(<Log />);
  await userEvent.click(page.getByRole("button", { name: "Earlier" }));
  await expect.element(page.getByText("2500 lines from 1")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Earlier" })).toBeDisabled();
  await expect.poll(() => asked.at(-1)?.get("after")).toBe("2500");
  await expect.element(page.getByText("2500 lines from 1")).toBeVisible();
});

test("an answer that comes after the search has changed is not mixed into the other's", async () => {
  serve(["before"]);
  await show(<Log />);
  await userEvent.click(page.getByRole("button", { name: "Earlier" }));
  await expect.poll(() => held.has("before")).toBe(true);
  await userEvent.click(page.getByRole("button", { name: "Search" }));
  await expect.element(page.getByText("3 lines from 1")).toBeVisible();
  const polls = asked.length;
  held.get("before")?.();
  await expect.poll(() => asked.length).toBeGreaterThan(polls);
  await expect.element(page.getByText("3 lines from 1")).toBeVisible();
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Autosave } from "./autosave";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

class Taken extends Error {}

function setUp(answers: (number | Error | Promise<number>)[] = []) {
  const saved: [string, number | null][] = [];
  const autosave = new Autosave<string>({
    revision: 1,
    now: () => 42,
    isConflict: (error) => error instanceof Taken,
    save: async (value, revision) => {
      saved.push([value, revision]);
      const answer = answers.shift() ?? (revision ?? 9) + 1;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { autosave, saved };
}

describe("saving a draft by itself", () => {
  it("waits until 800 ms after the last change, and sends the last", async () => {
    const { autosave, saved } = setUp();
    autosave.change("a");
    await vi.advanceTimersByTimeAsync(700);
    autosave.change("ab");
    expect(autosave.state.kind).toBe("waiting");
    await vi.advanceTimersByTimeAsync(799);
    expect(saved).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(saved).toEqual([["ab", 1]]);
    expect(autosave.state).toEqual({ kind: "saved", at: 42 });
  });

  it("goes on from the revision that the server told", async () => {
    const { autosave, saved } = setUp([7]);
    autosave.change("a");
    await autosave.flush();
    autosave.change("b");
    await autosave.flush();
    expect(saved).toEqual([
      ["a", 1],
      ["b", 7],
    ]);
  });

  it("sends what was typed meanwhile after the answer, never two at once", async () => {
    let answer: (revision: number) => void = () => undefined;
    const { autosave, saved } = setUp([new Promise<number>((resolve) => (answer = resolve))]);
    autosave.change("a");
    const first = autosave.flush();
    autosave.change("b");
    await vi.advanceTimersByTimeAsync(2000);
    expect(saved).toEqual([["a", 1]]);
    answer(2);
    await first;
    expect(autosave.state.kind).toBe("waiting");
    await vi.advanceTimersByTimeAsync(800);
    expect(saved[1]).toEqual(["b", 2]);
  });

  it("keeps what could not be sent, and tries again when told or when more is typed", async () => {
    const { autosave, saved } = setUp([new Error("offline"), new Error("offline")]);
    autosave.change("a");
    await autosave.flush();
    expect(autosave.state.kind).toBe("failed");
    await autosave.retry();
    autosave.change("ab");
    await autosave.flush();
    expect(saved.map(([value]) => value)).toEqual(["a", "a", "ab"]);
    expect(autosave.state.kind).toBe("saved");
  });

  it("stops at another browser's save until one decides, then overwrites it", async () => {
    const { autosave, saved } = setUp([new Taken()]);
    autosave.change("mine");
    await autosave.flush();
    expect(autosave.state).toEqual({ kind: "conflict" });
    autosave.change("mine, too");
    await vi.advanceTimersByTimeAsync(5000);
    expect(saved).toHaveLength(1);
    await autosave.retry();
    expect(saved[1]).toEqual(["mine, too", null]);
    expect(autosave.state.kind).toBe("saved");
  });

  it("sends what is pending when the page goes, beside an earlier save that has no answer yet", async () => {
    const { autosave, saved } = setUp([new Promise<number>(() => undefined), 3]);
    autosave.change("a");
    void autosave.flush();
    autosave.leave();
    expect(saved).toEqual([["a", 1]]);
    autosave.change("ab");
    autosave.leave();
    expect(saved).toEqual([
      ["a", 1],
      ["ab", null],
    ]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(saved).toHaveLength(2);
    expect(autosave.state.kind).toBe("saved");
  });

  it("does not wait out its moment when the page goes", () => {
    const { autosave, saved } = setUp();
    autosave.change("a");
    autosave.leave();
    expect(saved).toEqual([["a", 1]]);
  });

  it("sends nothing once the draft is gone", async () => {
    const { autosave, saved } = setUp();
    autosave.change("a");
    void autosave.stop();
    autosave.change("typed too late");
    await vi.advanceTimersByTimeAsync(5000);
    await autosave.flush();
    expect(saved).toEqual([]);
  });
});

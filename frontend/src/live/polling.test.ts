import { beforeEach, expect, test } from "vitest";
import { GRACE_MS, POLL_MS, pollWhileDown } from "./polling";

class Link {
  isDown = false;
  polled: boolean[] = [];
  private readonly listeners = new Set<() => void>();
  onState = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  setPolled = (polled: boolean) => {
    if (this.polled[this.polled.length - 1] !== polled) this.polled.push(polled);
  };
  set(isDown: boolean): void {
    this.isDown = isDown;
    for (const listener of [...this.listeners]) listener();
  }
  get followers(): number {
    return this.listeners.size;
  }
}

let link: Link;
let timers: { run: () => void; ms: number }[];
let asked: number;
let answers: boolean;
const deps = {
  setTimer: (run: () => void, ms: number) => {
    const timer = { run, ms };
    timers.push(timer);
    return timer;
  },
  clearTimer: (timer: unknown) => {
    timers = timers.filter((one) => one !== timer);
  },
};
const ask = async () => {
  asked += 1;
  if (!answers) throw new Error("no");
};
async function fire(): Promise<number> {
  const timer = timers.shift();
  timer?.run();
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
  return timer?.ms ?? -1;
}

beforeEach(() => {
  link = new Link();
  timers = [];
  asked = 0;
  answers = true;
});

test("a link that works is not polled, one that is lost is after a moment", async () => {
  const end = pollWhileDown(link, ask, deps);
  expect(timers).toHaveLength(0);
  link.set(true);
  link.set(true);
  expect(timers).toHaveLength(1);
  expect(await fire()).toBe(GRACE_MS);
  expect(asked).toBe(1);
  expect(link.polled).toEqual([false, true]);
  expect(await fire()).toBe(POLL_MS);
  expect(asked).toBe(2);
  end();
  expect(timers).toHaveLength(0);
  expect(link.followers).toBe(0);
});

test("frames end it, and silence of the server too is told", async () => {
  pollWhileDown(link, ask, deps);
  link.set(true);
  await fire();
  answers = false;
  await fire();
  expect(link.polled).toEqual([false, true, false]);
  link.set(false);
  expect(timers).toHaveLength(0);
  expect(link.polled[link.polled.length - 1]).toBe(false);
});

test("what was asked before it ended changes nothing after", async () => {
  const end = pollWhileDown(link, ask, deps);
  link.set(true);
  timers.shift()?.run();
  end();
  await Promise.resolve();
  await Promise.resolve();
  expect(timers).toHaveLength(0);
  expect(link.polled).toEqual([false]);
});

import { beforeEach, describe, expect, test } from "vitest";
import { backoffMs } from "./backoff";
import type { Frame } from "./frames";
import { LiveSocket, type SocketLike, STALE_MS } from "./socket";

class FakeSocket implements SocketLike {
  onopen: SocketLike["onopen"] = null;
  onclose: SocketLike["onclose"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onerror: SocketLike["onerror"] = null;
  readonly sent: unknown[] = [];
  closed = false;

  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }
  close(): void {
    this.closed = true;
  }
  open(): void {
    this.onopen?.(new Event("open"));
  }
  drop(code = 1006): void {
    this.onclose?.({ code } as CloseEvent);
  }
  receive(frame: unknown): void {
    this.onmessage?.({ data: typeof frame === "string" ? frame : JSON.stringify(frame) } as MessageEvent);
  }
}

/** Timers that run when the test says so. */
class Clock {
  now = 0;
  private next = 1;
  private readonly waiting = new Map<number, { at: number; run: () => void }>();

  set(run: () => void, ms: number): number {
    this.next += 1;
    this.waiting.set(this.next, { at: this.now + ms, run });
    return this.next;
  }
  clear(timer: unknown): void {
    this.waiting.delete(timer as number);
  }
  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const due = [...this.waiting].filter(([, { at }]) => at <= end).sort((a, b) => a[1].at - b[1].at)[0];
      if (!due) break;
      this.waiting.delete(due[0]);
      this.now = due[1].at;
      due[1].run();
    }
    this.now = end;
  }
}

let sockets: FakeSocket[];
let clock: Clock;
let live: LiveSocket;
let frames: Frame[];
const newest = (): FakeSocket => {
  const socket = sockets[sockets.length - 1];
  if (!socket) throw new Error("no connection was made");
  return socket;
};
const keep = (frame: Frame) => frames.push(frame);

beforeEach(() => {
  sockets = [];
  frames = [];
  clock = new Clock();
  live = new LiveSocket({
    connect: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    setTimer: (run, ms) => clock.set(run, ms),
    clearTimer: (timer) => clock.clear(timer),
    random: () => 0.5,
  });
});

describe("the tab's one socket", () => {
  test("opens with the first subscription and serves all topics", () => {
    expect(sockets).toHaveLength(0);
    live.subscribe("endpoint:a", { range: 300 }, keep);
    live.subscribe("events", { after_seq: 7 }, keep);
    expect(sockets).toHaveLength(1);
    expect(live.state).toBe("connecting");
    newest().open();
    expect(live.state).toBe("live");
    expect(newest().sent).toEqual([
      { op: "sub", topic: "endpoint:a", range: 300 },
      { op: "sub", topic: "events", after_seq: 7 },
    ]);
  });

  test("frames reach the listeners of their topic only", () => {
    const other: Frame[] = [];
    live.subscribe("endpoint:a", {}, keep);
    live.subscribe("endpoint:b", {}, (frame) => other.push(frame));
    newest().open();
    newest().receive({ type: "tick", topic: "endpoint:a", t: 1, v: [1] });
    expect(frames).toHaveLength(1);
    expect(other).toHaveLength(0);
  });

  test("what is not a frame is dropped", () => {
    live.subscribe("events", {}, keep);
    newest().open();
    newest().receive("not json");
    newest().receive({ type: "tick", topic: "events" });
    newest().receive({ type: "surprise", topic: "events" });
    newest().receive({ type: "position", topic: "events", seq: "7", complete: true });
    newest().receive({ type: "snapshot", topic: "events", keys: 3 });
    expect(frames).toHaveLength(0);
  });

  test("after a break it waits longer each time, then subscribes again", () => {
    live.subscribe("endpoint:a", { range: 60 }, keep);
    newest().open();
    newest().drop();
    expect(live.state).toBe("reconnecting");
    clock.advance(499);
    expect(sockets).toHaveLength(1);
    clock.advance(1);
    expect(sockets).toHaveLength(2);
    newest().drop();
    clock.advance(999);
    expect(sockets).toHaveLength(2);
    clock.advance(1);
    expect(sockets).toHaveLength(3);
    newest().open();
    expect(live.state).toBe("live");
    expect(newest().sent).toEqual([{ op: "sub", topic: "endpoint:a", range: 60 }]);
  });

  test("after a break it asks for the events behind the last one that it heard", () => {
    live.subscribe("events", {}, keep);
    newest().open();
    newest().receive({ type: "position", topic: "events", seq: 7, complete: true });
    newest().receive({ type: "event", topic: "events", data: { seq: 9 } });
    newest().receive({ type: "event", topic: "events", data: { seq: 8 } });
    newest().drop();
    clock.advance(500);
    newest().open();
    expect(newest().sent).toEqual([{ op: "sub", topic: "events", after_seq: 9 }]);
    // Another database: what was known does not continue, the new place counts.
    newest().receive({ type: "position", topic: "events", seq: 3, complete: false });
    newest().drop();
    clock.advance(500);
    newest().open();
    expect(newest().sent).toEqual([{ op: "sub", topic: "events", after_seq: 3 }]);
    expect(frames.map((frame) => frame.type)).toEqual(["position", "event", "event", "position"]);
  });

  test("a success starts the waiting times over", () => {
    live.subscribe("events", {}, keep);
    newest().open();
    newest().drop();
    clock.advance(500);
    newest().open();
    newest().drop();
    clock.advance(500);
    expect(sockets).toHaveLength(3);
  });

  test("several failures in a row are called offline, and it goes on trying", () => {
    live.subscribe("events", {}, keep);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      newest().drop();
      clock.advance(60_000);
    }
    expect(live.state).toBe("offline");
    expect(sockets).toHaveLength(6);
    newest().open();
    expect(live.state).toBe("live");
  });

  test("when the network comes back it does not sit out the waiting time", () => {
    live.subscribe("events", {}, keep);
    newest().open();
    newest().drop();
    live.retryNow();
    expect(sockets).toHaveLength(2);
    clock.advance(60_000);
    expect(sockets).toHaveLength(2);
  });

  test("an ended session is not retried", () => {
    live.subscribe("events", {}, keep);
    newest().drop(4401);
    clock.advance(120_000);
    expect(live.state).toBe("signed-out");
    expect(sockets).toHaveLength(1);
  });

  test("silence on a ticking topic is stale, the next frame heals it", () => {
    live.subscribe("endpoint:a", {}, keep);
    newest().open();
    clock.advance(STALE_MS - 1);
    expect(live.state).toBe("live");
    clock.advance(1);
    expect(live.state).toBe("reconnecting");
    newest().receive({ type: "tick", topic: "endpoint:a", t: 1, v: [] });
    expect(live.state).toBe("live");
  });

  test("silence on an event topic is normal", () => {
    live.subscribe("events", {}, keep);
    newest().open();
    clock.advance(STALE_MS * 10);
    expect(live.state).toBe("live");
  });

  test("the last listener that leaves ends the subscription", () => {
    const leaveA = live.subscribe("events", {}, keep);
    const leaveB = live.subscribe("events", {}, () => undefined);
    newest().open();
    leaveA();
    expect(newest().sent).toEqual([{ op: "sub", topic: "events" }]);
    leaveB();
    expect(newest().sent[1]).toEqual({ op: "unsub", topic: "events" });
    newest().drop();
    expect(live.state).toBe("idle");
    clock.advance(120_000);
    expect(sockets).toHaveLength(1);
  });

  test("a second listener asks for its own snapshot", () => {
    live.subscribe("endpoint:a", { range: 60 }, keep);
    newest().open();
    live.subscribe("endpoint:a", { range: 300 }, keep);
    expect(newest().sent).toEqual([
      { op: "sub", topic: "endpoint:a", range: 60 },
      { op: "sub", topic: "endpoint:a", range: 300 },
    ]);
  });

  test("who misses a frame asks for the first ones again, while there is a connection", () => {
    live.subscribe("overview", { changes: true }, keep);
    live.renew("overview");
    expect(newest().sent, "opening subscribes anyway").toEqual([]);
    newest().open();
    live.renew("overview");
    live.renew("events");
    const sub = { op: "sub", topic: "overview", changes: true };
    expect(newest().sent).toEqual([sub, sub]);
  });

  test("a tab that comes to the front gets a fresh snapshot, or a new attempt", () => {
    live.subscribe("endpoint:a", { range: 60 }, keep);
    newest().open();
    live.setHidden(true);
    live.setHidden(false);
    expect(newest().sent.slice(-2)).toEqual([
      { op: "rate", hz: 2 },
      { op: "sub", topic: "endpoint:a", range: 60 },
    ]);
    live.setHidden(true);
    newest().drop();
    const attempts = sockets.length;
    live.setHidden(false);
    expect(sockets.length).toBe(attempts + 1);
  });

  test("while values are asked for over HTTP it says so, until frames come again", () => {
    live.subscribe("endpoint:a", {}, keep);
    newest().open();
    live.setPolled(true);
    expect(live.state).toBe("live");
    newest().drop();
    expect(live.state).toBe("polling");
    live.setPolled(false);
    expect(live.state).toBe("reconnecting");
  });

  test("a hidden tab asks for fewer frames, also after reconnecting", () => {
    live.subscribe("events", {}, keep);
    newest().open();
    live.setHidden(true);
    expect(newest().sent[1]).toEqual({ op: "rate", hz: 0.5 });
    newest().drop();
    clock.advance(500);
    newest().open();
    expect(newest().sent[0]).toEqual({ op: "rate", hz: 0.5 });
    live.setHidden(false);
    expect(newest().sent[2]).toEqual({ op: "rate", hz: 2 });
  });
});

test("waiting times double from half a second to thirty, with a quarter of jitter", () => {
  expect([0, 1, 2, 6, 40].map((attempt) => backoffMs(attempt, () => 0.5))).toEqual([500, 1000, 2000, 30_000, 30_000]);
  expect(backoffMs(0, () => 0)).toBe(375);
  expect(backoffMs(0, () => 1)).toBe(625);
});

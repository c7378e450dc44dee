import { describe, expect, it } from "vitest";
import type { CallRecord } from "./outcome";
import { HISTORY_LIMIT, remember } from "./outcome";
import { latencySegments } from "./latency";

const TIMING = {
  total_us: 5000,
  gateway_us: null,
  queue_us: 100,
  compute_input_us: 50,
  compute_infer_us: 2000,
  compute_output_us: 50,
};

describe("latencySegments", () => {
  it("add up to the round trip", () => {
    const segments = latencySegments(TIMING, 8000);
    expect(segments.reduce((sum, segment) => sum + (segment.us ?? 0), 0)).toBe(8000);
    expect(segments.find((segment) => segment.key === "gateway")?.us).toBe(2800);
  });

  it("begin with the model, and end with what is the studio's own", () => {
    const keys = latencySegments(TIMING, 8000).map(({ key }) => key);
    expect(keys).toEqual(["compute", "input", "output", "queue", "gateway", "studio"]);
  });

  it("show a stream from outside", () => {
    const segments = latencySegments({ ...TIMING, first_us: 1500 }, 5600);
    expect(segments.map(({ key, us }) => [key, us])).toEqual([
      ["first", 1500],
      ["further", 3500],
      ["studio", 600],
    ]);
  });

  it("never go below zero, and leave unknown parts unknown", () => {
    const segments = latencySegments({ ...TIMING, total_us: 1000, gateway_us: 400, queue_us: null }, 900);
    expect(segments.find((segment) => segment.key === "studio")?.us).toBe(0);
    expect(segments.find((segment) => segment.key === "gateway")?.us).toBe(400);
    expect(segments.find((segment) => segment.key === "queue")?.us).toBeNull();
    expect(latencySegments({ ...TIMING, total_us: null }, 10).find((segment) => segment.key === "gateway")?.us).toBeNull();
  });
});

describe("remember", () => {
  it("keeps the last calls, newest first, and updates in place", () => {
    const record = (id: number) => ({ id, outcome: null }) as unknown as CallRecord;
    let history: CallRecord[] = [];
    for (let id = 0; id < HISTORY_LIMIT + 5; id += 1) history = remember(history, record(id));
    expect(history).toHaveLength(HISTORY_LIMIT);
    expect(history[0]?.id).toBe(HISTORY_LIMIT + 4);
    history = remember(history, { ...record(HISTORY_LIMIT + 4), first: true });
    expect(history).toHaveLength(HISTORY_LIMIT);
    expect(history[0]?.first).toBe(true);
  });
});

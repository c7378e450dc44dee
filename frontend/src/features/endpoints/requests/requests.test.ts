import { expect, test } from "vitest";
import type { ModelSpan, RequestBar, RequestStory, SeenRequest } from "@/api/types";
import { inReplicaUs, rowsOf, statusText, storyOf } from "./requests";

const seen = (changes: Partial<SeenRequest>) =>
  ({ status: 200, grpc_status: null, receive_us: 1, replica_us: 2, send_us: 3, ...changes }) as SeenRequest;

test.each([
  [seen({}), "200"],
  [seen({ status: 503 }), "503"],
  [seen({ status: 0 }), "client gone"],
  [seen({ grpc_status: 0 }), "200"],
  [seen({ grpc_status: 14 }), "gRPC 14"],
])("a status is gRPC's own where that is a failure", (request, text) => {
  expect(statusText(request)).toBe(text);
});

test.each([
  [seen({ host: "10.0.0.7:9001" }), 2],
  [seen({ host: "", status: 503 }), null],
  [seen({ host: "10.0.0.7:9001", replica_us: null }), null],
])("a request that reached no replica took no time there", (request, us) => {
  expect(inReplicaUs(request)).toBe(us);
});

const bar = (changes: Partial<RequestBar>) =>
  ({ what: "queue", depth: 0, start_us: 0, took_us: 10, span: null, leaf: true, slow: false, ...changes }) as RequestBar;
const span = (changes: Partial<ModelSpan>) => ({ model: "m", version: 1, via: "", batch: 1, error: "", ...changes }) as ModelSpan;

test("bars are shares of the whole", () => {
  const rows = rowsOf([bar({ took_us: 30 }), bar({ start_us: 30, took_us: 70, slow: true })], []);
  expect(rows.map((row) => [row.label, row.begin, row.width, row.slow])).toEqual([
    ["Queue", 0, 0.3, false],
    ["Queue", 0.3, 0.7, true],
  ]);
  expect(rowsOf([], [])).toEqual([]);
  expect(rowsOf([bar({ took_us: 0 })], [])[0]?.width).toBe(0);
});

test.each([
  [span({}), "m, version 1", ""],
  [span({ via: "step", batch: 4 }), "Step m, version 1", "in a batch of 4 requests"],
  [span({ via: "call", batch: 2, error: "QueueFull" }), "Call of m, version 1", "in a batch of 2 requests, QueueFull"],
])("a model is told with what led to it and who shared its batch", (one, label, note) => {
  const [row] = rowsOf([bar({ what: "model", span: 0, leaf: false })], [one]);
  expect([row?.label, row?.note]).toEqual([label, note]);
});

test("of several requests with one id the one that was opened is told of", () => {
  const story = (at: number) => ({ seen: seen({ at }), trace: null, bars: [], told: "" }) as RequestStory;
  const stories = [story(1), story(2)];
  expect(storyOf(stories, seen({ at: 2 }))).toBe(stories[1]);
  expect(storyOf(stories, seen({ at: 3 }))).toBe(stories[0]);
  expect(storyOf(undefined, seen({}))).toBeUndefined();
});

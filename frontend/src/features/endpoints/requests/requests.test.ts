import { expect, test } from "vitest";
import type { SeenRequest } from "@/api/types";
import { statusText, waysOf } from "./requests";

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

test("the stretches of a way add up to its time", () => {
  expect(waysOf(seen({})).map((way) => way.us)).toEqual([1, 2, 3]);
  expect(waysOf(seen({ replica_us: null }))[1]?.us).toBe(0);
});

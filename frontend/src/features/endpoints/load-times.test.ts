import { expect, test } from "vitest";
import type { Endpoint } from "@/api/types";
import { loadTimes } from "./load-times";

const deployment = (name: string, version: number, times: (number | null)[]) =>
  ({ name, model: "digits", version, replicas: times.map((load_seconds) => ({ load_seconds })) }) as Endpoint["deployments"][number];

test("the slowest version comes first, and one that never loaded is left out", () => {
  const found = loadTimes({
    deployments: [deployment("blue", 1, [2, 4]), deployment("green", 2, [9, null, 0]), deployment("red", 3, [null])],
  });
  expect(found).toEqual([
    { deployment: "green", model: "digits", version: 2, replicas: 1, fastest: 9, mean: 9, slowest: 9 },
    { deployment: "blue", model: "digits", version: 1, replicas: 2, fastest: 2, mean: 3, slowest: 4 },
  ]);
});

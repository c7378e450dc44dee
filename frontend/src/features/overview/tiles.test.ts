import { describe, expect, it } from "vitest";
import type { Overview } from "@/api/types";
import { courseOf, tilesOf } from "./tiles";

const live = (request_rate: number | null, p95_us: number | null, error_rate: number | null) => ({ request_rate, p95_us, error_rate });
const node = (name: string, free: number, gpus: number[], state = "online") => ({
  name,
  state,
  info: { cpu_utilization: 0.2, disk_free_bytes: free, disk_total_bytes: 100, gpus: gpus.map((utilization) => ({ utilization })) },
});
const overview = (endpoints: unknown[], nodes: unknown[]): Overview =>
  ({ endpoints, nodes, counts: { replicas_ready: 3, replicas_total: 4 } }) as unknown as Overview;
const byId = (tiles: ReturnType<typeof tilesOf>) => Object.fromEntries(tiles.map((tile) => [tile.id, tile]));

describe("the six figures", () => {
  it("add requests, weigh errors, take the slowest and the fullest", () => {
    const tiles = byId(
      tilesOf(
        overview(
          [
            { name: "a", live: live(90, 1_000, 0) },
            { name: "b", live: live(10, 5_000, 0.5) },
            { name: "c", live: live(null, null, null) },
          ],
          [node("n1", 50, [1, 0.5]), node("n2", 5, []), node("n3", 1, [0], "offline")],
        ),
        null,
      ),
    );
    expect(tiles["requests"]?.value).toEqual({ value: "100", unit: "req/s" });
    expect(tiles["errors"]).toMatchObject({ value: { value: "5.0", unit: "%" }, bad: true });
    expect(tiles["p95"]).toMatchObject({ note: "b" });
    expect(tiles["busy"]).toMatchObject({ label: "GPUs busy", value: { value: "75", unit: "%" } });
    expect(tiles["replicas"]).toMatchObject({ value: { value: "3", unit: "of 4" }, bad: true });
    expect(tiles["disk"]).toMatchObject({ note: "n2", bad: true });
  });
  it("say – where nothing is known", () => {
    const tiles = byId(tilesOf(overview([], []), null));
    expect(["requests", "errors", "p95", "busy", "disk"].map((id) => tiles[id]?.value.value)).toEqual(["–", "–", "–", "–", "–"]);
  });
  it("speak of processors where there is no GPU", () =>
    expect(byId(tilesOf(overview([], [node("n", 50, [])]), null))["busy"]).toMatchObject({
      label: "CPUs busy",
      value: { value: "20", unit: "%" },
    }));
});

describe("the last hour", () => {
  it("sums, weighs and takes the worst, gap by gap", () => {
    const course = courseOf({
      keys: [
        "request_rate.endpoint/a",
        "request_rate.endpoint/b",
        "error_rate.endpoint/a",
        "error_rate.endpoint/b",
        "p95_us.endpoint/a",
        "p95_us.endpoint/b",
      ],
      t: [1, 2, 3],
      v: [
        [90, 5, null],
        [10, null, null],
        [0, 0.2, null],
        [0.5, null, null],
        [7, 8, null],
        [9, null, null],
      ],
    } as never);
    expect(course).toEqual({ requests: [100, 5, null], errors: [0.05, 0.2, null], p95: [9, 8, null] });
  });
});

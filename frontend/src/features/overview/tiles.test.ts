import { describe, expect, it } from "vitest";
import type { Overview } from "@/api/types";
import { courseOf, tilesOf } from "./tiles";

const nothing: Overview["totals"] = {
  answer_rate: null,
  error_rate: null,
  slowest: null,
  utilization: null,
  gpus_online: 0,
  gpus: 0,
  gpu_name: "",
  gpu_memory_bytes: 0,
  least_disk: null,
};
const overview = (totals: Partial<Overview["totals"]>): Overview =>
  ({ totals: { ...nothing, ...totals }, counts: { replicas_ready: 3, replicas_total: 4, nodes_online: 1 } }) as unknown as Overview;
const byId = (tiles: ReturnType<typeof tilesOf>) => Object.fromEntries(tiles.map((tile) => [tile.id, tile]));

describe("the six figures", () => {
  it("are the totals, with what they are of", () => {
    const tiles = byId(
      tilesOf(
        overview({
          answer_rate: 100,
          error_rate: 0.05,
          slowest: { endpoint: "b", p95_us: 5_000 },
          utilization: 0.75,
          gpus_online: 2,
          least_disk: { node: "n2", free_bytes: 5, total_bytes: 100 },
        }),
        null,
      ),
    );
    expect(tiles["requests"]?.value).toEqual({ value: "100", unit: "req/s" });
    expect(tiles["errors"]).toMatchObject({ value: { value: "5.0", unit: "%" }, bad: true });
    expect(tiles["p95"]).toMatchObject({ note: "b" });
    expect(tiles["busy"]).toMatchObject({ label: "GPUs busy", value: { value: "75", unit: "%" }, formula: "Mean over 2 GPUs that report" });
    expect(tiles["replicas"]).toMatchObject({ value: { value: "3", unit: "of 4" }, bad: true });
    expect(tiles["disk"]).toMatchObject({ note: "n2", bad: true });
  });
  it("say – where nothing is known", () => {
    const tiles = byId(tilesOf(overview({}), null));
    expect(["requests", "errors", "p95", "busy", "disk"].map((id) => tiles[id]?.value.value)).toEqual(["–", "–", "–", "–", "–"]);
  });
  it("speak of processors where there is no GPU", () =>
    expect(byId(tilesOf(overview({ utilization: 0.2 }), null))["busy"]).toMatchObject({
      label: "CPUs busy",
      value: { value: "20", unit: "%" },
    }));
});

describe("the last hour", () => {
  it("counts the callers of an endpoint without a replica, and an endpoint that nobody calls as none", () => {
    const keys = ["dead", "busy", "uncalled"].flatMap((name) =>
      ["answer_rate", "error_rate"].map((metric) => `${metric}.endpoint/${name}`),
    );
    const course = courseOf({
      keys,
      t: [1, 2],
      v: [
        [10, null],
        [1, null],
        [30, null],
        [0, null],
        [0, 0],
        [null, null],
      ],
    } as never);
    expect(course).toMatchObject({ requests: [40, 0], errors: [0.25, null] });
  });
  it("sums, weighs and takes the worst, gap by gap", () => {
    const course = courseOf({
      keys: [
        "answer_rate.endpoint/a",
        "answer_rate.endpoint/b",
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

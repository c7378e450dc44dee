import { describe, expect, it } from "vitest";
import type { Gpu } from "@/api/types";
import { courseOf, readingsOf } from "./gpu-readings";

const GIB = 2 ** 30;
const gpu = (over: Partial<Gpu> = {}): Gpu => ({
  index: 1,
  uuid: "GPU-1",
  name: "H100",
  memory_total_bytes: 80 * GIB,
  memory_used_bytes: 20 * GIB,
  utilization: 0.37,
  temperature_c: 61,
  power_w: 251.3,
  power_limit_w: 700,
  driver_version: "550.54.15",
  energy_j: null,
  ...over,
});
const words = (over: Partial<Gpu>) => readingsOf(gpu(over), "a1").map(({ label, text }) => `${label} ${text}`.replaceAll("\u00a0", " "));

describe("what a GPU shows", () => {
  it.each([
    [{}, ["Memory 20.0 GiB of 80.0 GiB", "Busy 37 %", "Temperature 61 °C", "Power 251 of 700 W"]],
    [{ temperature_c: null }, ["Memory 20.0 GiB of 80.0 GiB", "Busy 37 %", "Power 251 of 700 W"]],
    [{ temperature_c: null, power_limit_w: null }, ["Memory 20.0 GiB of 80.0 GiB", "Busy 37 %", "Power 251 W"]],
    [{ temperature_c: null, power_w: null }, ["Memory 20.0 GiB of 80.0 GiB", "Busy 37 %"]],
    [
      { temperature_c: null, power_w: null, energy_j: 5.4e6 },
      ["Memory 20.0 GiB of 80.0 GiB", "Busy 37 %", "Energy 1.50 kWh since the driver started"],
    ],
    [
      { temperature_c: null, power_w: null, energy_j: 18_000 },
      ["Memory 20.0 GiB of 80.0 GiB", "Busy 37 %", "Energy 5.00 Wh since the driver started"],
    ],
    [{ utilization: null, temperature_c: null, power_w: null, power_limit_w: null }, ["Memory 20.0 GiB of 80.0 GiB"]],
  ])("%j", (over, lines) => expect(words(over)).toEqual(lines));
  it("has no share where there is no limit", () =>
    expect(readingsOf(gpu({ power_limit_w: null }), "a1").map((reading) => reading.share)).toEqual([0.25, 0.37, null, null]));
});

describe("how it went", () => {
  const course = {
    keys: ["gpu0_util.node/a1", "gpu1_util.node/a1", "gpu1_power.node/a1"],
    v: [
      [1, 1],
      [0.5, null],
      [null, null],
    ],
  };
  it("is that of this card", () => expect(courseOf(course, "a1", 1, "gpu{index}_util")).toEqual([0.5, null]));
  it.each([
    ["of another node", "b1", "gpu{index}_util"],
    ["never measured", "a1", "gpu{index}_power"],
    ["unknown", "a1", "gpu{index}_temperature"],
  ] as const)("is empty where %s", (_, node, gauge) => expect(courseOf(course, node, 1, gauge)).toEqual([]));
  it("is empty before it is loaded", () => expect(courseOf(undefined, "a1", 1, "gpu{index}_util")).toEqual([]));
});

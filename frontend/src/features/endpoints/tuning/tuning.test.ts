import { expect, test } from "vitest";
import type { Tuning, TuningRun, TuningSetting } from "@/api/types";
import { logTicks, pictureOf, placeLabels } from "./frontier";
import { applyRecipe, rollOutRecipe, startRecipe } from "./recipes";
import { readValues } from "./values";
import { findings, objectiveText, progressText, runText, settingText, savedUse } from "./words";

const setting = (instances: number, batch = 8, delay_us = 100): TuningSetting => ({ instances, batch, delay_us });
const run = (instances: number, throughput: number | null, latency_us: number | null, more: Partial<TuningRun> = {}): TuningRun =>
  ({
    setting: setting(instances),
    throughput,
    latency_us,
    memory_bytes: 0,
    gpu_memory_bytes: 0,
    error: null,
    frontier: false,
    chosen: false,
    ...more,
  }) as TuningRun;
const tuning = (more: Partial<Tuning>): Tuning =>
  ({
    id: "t1",
    state: "Succeeded",
    endpoint: "net",
    deployment: "blue",
    node: "gpu-1",
    mode: "concurrency",
    levels: [4, 16],
    slo_percentile: null,
    slo_ms: null,
    now: setting(1),
    runs: [],
    gain: null,
    stopped_by: "",
    measured: 2,
    budget: 6,
    current: null,
    ...more,
  }) as Tuning;

test.each([
  ["", 1, []],
  ["1, 4,2", 1, [1, 2, 4]],
  ["1..10", 1, [1, 2, 4, 8, 10]],
  ["0, 100", 0, [0, 100]],
])("values %s", (text, least, values) => expect(readValues(text, least, 64_000)).toEqual({ ok: true, values }));

test.each(["0", "1.5", "many", "1,", "..8", "1..2..3", "99", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"])(
  "values %s are refused",
  (text) => expect(readValues(text, 1, 64).ok).toBe(false),
);

test.each([
  [setting(1), "1 instance, batch 8, delay 100 µs"],
  [setting(2, 1, 0), "2 instances, batch 1"],
  [setting(2, 0, 0), "2 instances"],
])("a setting in words", (one, words) => expect(settingText(one)).toBe(words));

test.each([
  [5_100, 90_000, [5_000, 10_000, 20_000, 50_000, 100_000]],
  [100, 100, [100, 200]],
  [1, 1e6, [1, 10, 100, 1_000, 10_000, 100_000, 1e6]],
  [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, [1, 10]],
])("ticks by logarithm from %s to %s", (least, most, ticks) => expect(logTicks(least, most)).toEqual(ticks));

const FRAME = { left: 0, top: 0, width: 150, height: 100 };

test("the frontier is joined from the left, and what was not measured has no place", () => {
  const runs = [
    run(1, 100, 10_000),
    run(8, 90, 100_000, { frontier: true }),
    run(4, 50, 1_000, { frontier: true }),
    run(2, null, null),
    run(3, 10, 10, { error: { code: "X", message: "no" } as never }),
  ];
  const picture = pictureOf(tuning({ runs, slo_ms: 10 }), FRAME);
  expect([picture.scales.xTicks.at(-1), picture.scales.yTicks[0], picture.scales.yTicks.at(-1)]).toEqual([150, 1_000, 100_000]);
  expect(picture.marks.map((mark) => [mark.x, Math.round(mark.y), mark.today])).toEqual([
    [100, 50, true],
    [90, 0, false],
    [50, 100, false],
  ]);
  expect(picture.path).toBe("M50.0 100.0 L90.0 0.0");
  expect(picture.slo).toBeCloseTo(50);
  expect(pictureOf(tuning({ runs, slo_ms: 900 }), FRAME).slo).toBeNull();
  expect(pictureOf(tuning({}), FRAME).marks).toEqual([]);
});

test("texts lie over no mark and no other text, and are left out where there is no room", () => {
  const mark = (x: number, y: number) => ({ run: run(1, 1, 1), x, y, today: false });
  const [one, right, low] = [mark(60, 50), mark(145, 50), mark(30, 98)];
  expect(placeLabels([{ mark: one, text: "chosen" }], [one], FRAME)).toEqual([{ x: 69, y: 69, textAnchor: "start" }]);
  expect(placeLabels([{ mark: right, text: "chosen" }], [right], FRAME)[0]?.textAnchor).toBe("end");
  expect(placeLabels([{ mark: low, text: "today" }], [low], FRAME)[0]?.textAnchor).toBe("middle");
  const twice = placeLabels(
    Array.from({ length: 9 }, () => ({ mark: one, text: "chosen" })),
    [one],
    FRAME,
  );
  expect(twice.filter(Boolean).length).toBeLessThan(5);
  expect(twice.at(-1)).toBeUndefined();
});

test("what was found is said with what it gains", () => {
  const chosen = run(4, 150, 9_000, { chosen: true });
  expect(findings(tuning({ runs: [chosen], gain: 0.5 }))[0]).toBe(
    "Best: 4 instances, batch 8, delay 100 µs. Answers: +50 % against what runs today.",
  );
  expect(findings(tuning({ runs: [chosen], gain: 0.2, mode: "rate" }))[0]).toContain("Latency: −20 %");
  expect(findings(tuning({ runs: [run(1, 1, 1, { chosen: true })], gain: 0 }))[0]).toContain("which is what runs today");
  expect(findings(tuning({ runs: [run(1, 1, 1)], stopped_by: "6 runs were allowed" }))).toEqual([
    "No configuration that was measured holds the objective.",
    "Done because: 6 runs were allowed.",
  ]);
  expect(findings(tuning({ runs: [run(1, 1, 1)], state: "Running" }))).toEqual([]);
  expect(runText(run(2, 150, 9_000, { memory_bytes: 2 ** 30 }), tuning({}))).toMatch(/memory 1\.0+.GiB$/);
  expect(runText(run(2, 150, 9_000, { memory_bytes: 2 ** 30, gpu_memory_bytes: 3 * 2 ** 30 }), tuning({}))).toMatch(
    /memory 1\.0+.GiB, GPU 3\.0+.GiB$/,
  );
});

test("objective and progress in words", () => {
  expect(objectiveText(tuning({ slo_percentile: 99, slo_ms: 20 }))).toBe("most answers with p99 ≤ 20 ms");
  expect(objectiveText(tuning({ mode: "rate", levels: [200] }))).toBe("least latency at 200 requests a second");
  const current = { phase: "measuring" as const, setting: setting(2), reason: "far", points: 1 };
  expect(progressText(tuning({ state: "Running", current }))).toBe(
    "2 of at most 6 configurations measured. Measuring 2 instances, batch 8, delay 100 µs: 1 of 2 points.",
  );
  expect(progressText(tuning({ state: "Running", current: { phase: "choosing", points: 0 } }))).toContain("Choosing the next");
});

test.each([
  ["none saved", null, "nets", 4, 2],
  ["runs it", 2, "nets", 4, 2],
  ["could run it", 2, "nets", 4, null],
  // Another version has a second revision of its own.
  ["runs another version", 2, "nets", 5, 2],
  ["runs another version", 2, "others", 4, 2],
] as const)("what was saved: a deployment %s", (use, applied, model, version, revision) => {
  const deployment = { model, version, config_revision: revision };
  expect(savedUse({ applied, registered_model: "nets", version: 4 }, deployment)).toBe(use);
});

test("a tuning as commands and calls", () => {
  const body = { mode: "concurrency" as const, levels: [4, 16], seconds: 2, warm_up_s: 0.5, slo_percentile: 99 as const, slo_ms: 20 };
  const recipe = startRecipe("net", "blue", { ...body, case: "c1", instances: [1, 2], while_serving: true }, "cat");
  expect(recipe.cli?.[0]?.join(" ")).toBe(
    "shoal tune start net blue --concurrency 4,16 --slo p99=20 --seconds 2 --warm-up 0.5 --case cat --instances 1,2 --while-serving --watch",
  );
  expect(recipe.api?.[0]).toMatchObject({ method: "POST", path: "/api/v1/endpoints/net/deployments/blue/tunings", body: { case: "c1" } });
  expect(applyRecipe({ id: "t1" }, undefined).cli).toEqual([["shoal", "tune", "apply", "t1"]]);
  expect(applyRecipe({ id: "t1" }, setting(2))).not.toHaveProperty("cli");
  expect(rollOutRecipe({ endpoint: "net", deployment: "blue" }, 4).api?.[0]).toMatchObject({
    method: "PATCH",
    body: { config_revision: 4 },
  });
});

import { describe, expect, it } from "vitest";
import type { PlacementPreview } from "@/api/placement";
import type { NodeItem } from "@/api/types";
import { NO_FIELDS, readConfig } from "./config-fields";
import { gpuWarnings, indexRange, instancesIn, nodeCards } from "./placement-view";

const GIB = 1024 ** 3;
const gpu = (index: number, used = 0) => ({
  index,
  uuid: `GPU-${index}`,
  name: "T4",
  memory_total_bytes: 16 * GIB,
  memory_used_bytes: used,
  utilization: 0,
});
const node = (name: string, gpus: ReturnType<typeof gpu>[]) => ({ name, info: { gpus } }) as unknown as NodeItem;

describe("indices in words", () => {
  it.each([
    [[0, 1, 2, 3], "0–3"],
    [[0, 2], "0, 2"],
    [[0], "0"],
    [[], "none"],
  ])("%j", (indices, words) => expect(indexRange(indices)).toBe(words));
});

describe("what the text asks and a node lacks", () => {
  it.each([
    ["KIND_GPU", [], [], ["KIND_GPU but gpu-a1 has no GPU."]],
    ["KIND_GPU", [0, 5], [0, 1, 2, 3], ["GPU 5 does not exist on gpu-a1 (0–3) or its compute capability is too low."]],
    ["KIND_GPU", [0, 1], [0, 1], []],
    ["KIND_AUTO", [], [], []],
    ["KIND_CPU", [], [], []],
  ] as const)("%s %j on %j", (instanceKind, gpus, has, warnings) =>
    expect(
      gpuWarnings(
        { instanceKind, gpus: [...gpus] },
        node(
          "gpu-a1",
          has.map((index) => gpu(index)),
        ),
      ),
    ).toEqual(warnings),
  );
});

describe("cards", () => {
  const preview = {
    estimate: { download_bytes: 4 * GIB, gpu_count: 1, gpu_memory_bytes: 6 * GIB },
    assigned: [
      { ordinal: 0, node: "a", gpus: ["GPU-0"] },
      { ordinal: 1, node: "a", gpus: ["GPU-0"] },
      { ordinal: 2, node: "gone", gpus: [] },
    ],
    items: [{ node: "a" }, { node: "b" }, { node: "gone" }],
  } as unknown as PlacementPreview;

  it("add what would come, and say when it is more than is free", () => {
    const nodes = [node("b", []), node("a", [gpu(0, 5 * GIB), gpu(1)])];
    const cards = nodeCards([{ preview, nodes }], [NO_FIELDS]);
    expect(cards.map((card) => [card.node.name, card.replicas])).toEqual([
      ["a", 2],
      ["b", 0],
    ]);
    const [first, again] = nodeCards(
      [
        { preview, nodes: nodes.slice(1) },
        { preview, nodes },
      ],
      [],
    ).map((card) => card.node.name);
    expect([first, again]).toEqual(["a", "b"]); // on both pages, and shown once
    expect(cards[0]?.gpus.map((bar) => bar.added / GIB)).toEqual([12, 0]);
    expect(cards[0]?.warnings[0]?.replaceAll("\u00a0", " ")).toBe("Estimated 12.0 GiB, 11.0 GiB free on GPU 0.");
  });
});

describe("instances of one replica", () => {
  it.each([
    ['name: "m"', 1],
    ["instance_group [ { count: 2 gpus: [ 0, 1 ] } ]", 4],
    ['platform: "ensemble" ensemble_scheduling { step [ ] }', 0],
  ])("%s", (text, count) => expect(instancesIn([readConfig(text).fields])).toBe(count));
});

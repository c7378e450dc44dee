import { describe, expect, it } from "vitest";
import type { OutputTensor } from "../results/output-tensor";
import type { Box } from "./box";
import { boxesOf, guessMapping, type BoxFormat } from "./boxes";

const tensor = (name: string, shape: number[], elements: number[], part: Partial<OutputTensor> = {}): OutputTensor => ({
  name,
  datatype: "FP32",
  shape,
  elements,
  complete: true,
  stats: null,
  ...part,
});
const PICTURE = { width: 200, height: 100 };
const rounded = (boxes: Box[]) =>
  boxes.map(({ x, y, width, height, score, classId }) =>
    [x, y, width, height].map((side) => Number(side.toFixed(4))).concat([score ?? -1, classId ?? -1]),
  );

describe("which outputs are boxes", () => {
  const boxes = tensor("boxes", [1, 2, 4], [0, 0, 20, 50, 100, 50, 200, 100]);
  const scores = tensor("scores", [1, 2], [0.5, 0.9]);
  const labels = tensor("labels", [1, 2], [3, 7], { datatype: "INT64" });

  it.each<[string, OutputTensor[], boolean, unknown]>([
    [
      "three tensors",
      [labels, scores, boxes],
      true,
      { boxes: "boxes", scores: "scores", classes: "labels", format: "xyxy", unit: "pixels" },
    ],
    ["the same from a model without a batch axis", [labels, scores, boxes], false, { boxes: "boxes", scores: "scores", classes: "labels" }],
    ["TensorFlow's", [tensor("detection_boxes", [1, 1, 4], [0.1, 0.2, 0.5, 0.6])], true, { format: "yxyx", unit: "share", scores: null }],
    [
      "rows with score and class",
      [tensor("output0", [1, 2, 6], [0, 0, 9, 9, 0.5, 1, 0, 0, 5, 5, 0.25, 2])],
      true,
      { boxes: "output0", format: "xyxy" },
    ],
    [
      "guesses per anchor",
      [tensor("output0", [1, 6, 64], Array<number>(6 * 64).fill(0.5))],
      true,
      { boxes: "output0", unit: "share", raw: { anchors: 64, objectness: false } },
    ],
    [
      "the same, in rows and pixels",
      [
        tensor(
          "output",
          [1, 64, 8],
          Array.from({ length: 512 }, (_, at) => (at % 8 < 4 ? 99 : 0.5)),
        ),
      ],
      true,
      { unit: "pixels", raw: { objectness: true } },
    ],
    ["corners that are none", [tensor("bbox", [1, 1, 4], [120, 50, 40, 20])], true, { format: "cxcywh" }],
  ])("%s", (_, tensors, batched, mapping) => expect(guessMapping(tensors, batched)).toMatchObject(mapping as object));

  it.each<[string, OutputTensor[]]>([
    ["scores of classes", [tensor("output", [1, 4], [1, 2, 3, 4])]],
    ["four features by another name", [tensor("embedding", [1, 3, 4], Array<number>(12).fill(0.1))]],
    ["six columns whose fifth is no score", [tensor("output", [1, 1, 6], [0, 0, 1, 1, 7, 0])]],
    ["a part of a large output", [tensor("boxes", [1, 2, 4], [0, 0, 1, 1], { complete: false })]],
    ["texts", [tensor("boxes", [1, 2, 4], [], { datatype: "BYTES" })]],
  ])("not %s", (_, tensors) => expect(guessMapping(tensors, true)).toBeNull());
});

describe("where boxes lie", () => {
  it.each<[BoxFormat, number[]]>([
    ["xyxy", [20, 10, 60, 50]],
    ["yxyx", [10, 20, 50, 60]],
    ["xywh", [20, 10, 40, 40]],
    ["cxcywh", [40, 30, 40, 40]],
  ])("as %s", (format, row) => {
    const found = boxesOf(
      { boxes: "b", scores: null, classes: null, format, unit: "pixels", raw: null },
      [tensor("b", [1, 1, 4], row)],
      true,
      0,
      PICTURE,
    );
    expect(rounded(found)).toEqual([[0.1, 0.1, 0.2, 0.4, -1, -1]]);
  });

  const mapping = { boxes: "b", scores: "s", classes: "c", format: "xywh", unit: "share", raw: null } as const;
  const second = [tensor("b", [2, 1, 4], [0, 0, 1, 1, 0.5, 0.5, 0.25, 0.25]), tensor("s", [2, 1], [0.1, 0.8]), tensor("c", [2, 1], [4, 5])];

  it("of each picture of the batch, in shares as they are", () =>
    expect(rounded(boxesOf(mapping, second, true, 1, PICTURE))).toEqual([[0.5, 0.5, 0.25, 0.25, 0.8, 5]]));

  it("best first, as many as the model says, without what is no number", () => {
    const rows = [
      tensor("b", [1, 4, 4], [0, 0, 1, 1, 0, 0, 0.5, 0.5, NaN, 0, 1, 1, 0, 0, 0.1, 0.1]),
      tensor("s", [1, 4], [0.2, 0.9, 0.8, 1]),
    ];
    const count = tensor("num_detections", [1, 1], [3], { datatype: "INT32" });
    expect(rounded(boxesOf({ ...mapping, classes: null }, [...rows, count], true, 0, PICTURE))).toEqual([
      [0, 0, 0.5, 0.5, 0.9, -1],
      [0, 0, 1, 1, 0.2, -1],
    ]);
  });

  it("with the best class of a row of scores", () => {
    const rows = [tensor("b", [1, 1, 4], [0, 0, 1, 1]), tensor("s", [1, 1, 3], [0.1, 0.2, 0.7])];
    expect(rounded(boxesOf({ ...mapping, classes: null }, rows, true, 0, PICTURE))).toEqual([[0, 0, 1, 1, 0.7, 2]]);
  });

  it("with picture, class and score in one row", () => {
    const row = tensor("output", [1, 7], [0, 0, 0, 100, 50, 2, 0.75]);
    const found = boxesOf(
      { boxes: "output", scores: null, classes: null, format: "xyxy", unit: "pixels", raw: null },
      [row],
      false,
      0,
      PICTURE,
    );
    expect(rounded(found)).toEqual([[0, 0, 0.5, 0.5, 0.75, 2]]);
  });
});

/** Detections as YOLO gives them before anything is left out: a guess per anchor, most of them of nothing, many of the same thing. Pure. */
import type { Box } from "./box";

export interface RawLayout {
  /** Numbers per anchor: the box's four, with `objectness` one more, then a score per class. */
  numbers: number;
  anchors: number;
  /** [84, 8400] as YOLOv8 and later, not [8400, 85] as YOLOv5 and YOLOv7. */
  numbersFirst: boolean;
  /** Scores of classes are to be multiplied by the fifth number. */
  objectness: boolean;
}

const BOX = 4;
const FEWEST_ANCHORS = 64;
const MOST_NUMBERS = 2048;
/** In a row of fewer, the sixth is a class: boxes that were chosen already. */
const FEWEST_IN_A_ROW = 8;
/** What is likelier nothing is not worth comparing with everything else. */
export const FLOOR = 0.05;
/** As the models' own libraries. */
const SAME_THING = 0.45;
const MOST_COMPARED = 2000;

/** `inner`: the shape for one picture. Null where it is nothing of this kind. */
export function rawLayout(inner: readonly number[]): RawLayout | null {
  const [first = 0, second = 0, ...more] = inner;
  if (more.length > 0) return null;
  const numbersFirst = second > first;
  const [numbers, anchors] = numbersFirst ? [first, second] : [second, first];
  if (anchors < FEWEST_ANCHORS || anchors < 4 * numbers || numbers > MOST_NUMBERS) return null;
  if (numbers < (numbersFirst ? BOX + 1 : FEWEST_IN_A_ROW)) return null;
  return { numbers, anchors, numbersFirst, objectness: !numbersFirst };
}

const at = (layout: RawLayout, anchor: number, number: number): number =>
  layout.numbersFirst ? number * layout.anchors + anchor : anchor * layout.numbers + number;

/** Whether what should be scores are scores, and sizes are not negative. */
export function looksRaw(values: Float64Array, layout: RawLayout): boolean {
  for (let anchor = 0; anchor < layout.anchors; anchor += 1) {
    for (const side of [2, 3]) if (!((values[at(layout, anchor, side)] ?? NaN) >= 0)) return false;
    for (let number = BOX; number < layout.numbers; number += 1) {
      const value = values[at(layout, anchor, number)] ?? NaN;
      if (!(value >= 0 && value <= 1)) return false;
    }
  }
  return true;
}

/** Boxes with their best class, at least `FLOOR` likely, best first; their unit is that of the values. */
function likely(values: Float64Array, layout: RawLayout): Box[] {
  const found: Box[] = [];
  const scoresAt = layout.objectness ? BOX + 1 : BOX;
  for (let anchor = 0; anchor < layout.anchors; anchor += 1) {
    const value = (number: number) => values[at(layout, anchor, number)] ?? NaN;
    let classId = 0;
    // Nothing behind it: that there is something is all that is said.
    let best = scoresAt < layout.numbers ? -Infinity : 1;
    for (let number = scoresAt; number < layout.numbers; number += 1) {
      if (value(number) > best) [best, classId] = [value(number), number - scoresAt];
    }
    const score = layout.objectness ? best * value(BOX) : best;
    const [x, y, width, height] = [value(0), value(1), value(2), value(3)];
    if (score >= FLOOR && [x, y, width, height].every(Number.isFinite))
      found.push({ x: x - width / 2, y: y - height / 2, width, height, score, classId });
  }
  return found.sort((a, b) => (b.score ?? 0) - (a.score ?? 0)).slice(0, MOST_COMPARED);
}

/** How much of what two boxes cover both cover. */
function overlap(a: Box, b: Box): number {
  const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  if (across <= 0 || down <= 0) return 0;
  const both = across * down;
  return both / (a.width * a.height + b.width * b.height - both);
}

/** Of boxes of one class that lie over each other, the best. `boxes`: best first, and so is the answer. */
function suppressed(boxes: readonly Box[]): Box[] {
  const kept: Box[] = [];
  for (const box of boxes) if (!kept.some((other) => other.classId === box.classId && overlap(other, box) > SAME_THING)) kept.push(box);
  return kept;
}

/**
 * What is seen, in shares of a picture of that size. A greater least score only takes boxes from the end of it: a box is left out for a
 * better one, never for a worse.
 */
export function rawBoxes(values: Float64Array, layout: RawLayout, across: number, down: number): Box[] {
  return suppressed(likely(values, layout)).map((box) => ({
    ...box,
    x: box.x / across,
    y: box.y / down,
    width: box.width / across,
    height: box.height / down,
  }));
}

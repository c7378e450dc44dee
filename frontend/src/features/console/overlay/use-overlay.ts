/** What lies over the picture that was sent: choices of this tab, and what they make of the outputs. */
import { useMemo, useState } from "react";
import type { ConsoleModel } from "@/api/types";
import { labelsOf } from "../results/labels";
import type { CallRecord } from "../results/outcome";
import { numbersOf, outputTensor, type OutputTensor } from "../results/output-tensor";
import { boxCandidates, boxesOf, guessMapping, type BoxMapping } from "./boxes";
import type { MaskChoice } from "./mask-settings";
import { isLikelyMask, isMaskType, maskShape, paintMask, type MaskShape } from "./masks";
import { modeOf } from "./mask-settings";
import { sentPictures, type SentPicture } from "./sent-pictures";
import { useRawBoxes } from "./use-raw-boxes";

export interface Layers {
  pictures: SentPicture[];
  tensors: OutputTensor[];
  batched: boolean;
  masks: { tensor: OutputTensor; shape: MaskShape }[];
}

/** Null where the call sent no picture, or nothing of its answer lies over one. */
export function layersOf(record: CallRecord, model: ConsoleModel | null): Layers | null {
  if (record.outcome?.kind !== "result") return null;
  const pictures = sentPictures(record.sent, record.drafts);
  const [first] = pictures;
  if (!first) return null;
  const tensors = record.outcome.outputs.map(outputTensor);
  const batched = (model?.name === record.model && model.max_batch_size > 0) || first.count > 1;
  const masks = tensors.flatMap((tensor) => {
    const shape = isMaskType(tensor.datatype) && tensor.complete ? maskShape(tensor.shape, batched, first) : null;
    return shape ? [{ tensor, shape }] : [];
  });
  return masks.length > 0 || boxCandidates(tensors, batched).length > 0 ? { pictures, tensors, batched, masks } : null;
}

interface Choice {
  mask: MaskChoice;
  mapping: BoxMapping | null;
  leastScore: number;
}

// Kept for the tab, as the choice of a view is: the next picture is looked at in the same way.
const chosen = new Map<string, Choice>();
const OPACITY = 0.55;
const LEAST_SCORE = 0.25;

function firstChoice({ masks, tensors, batched }: Layers): Choice {
  const likely = masks.find(({ tensor, shape }) => isLikelyMask(tensor, shape));
  return {
    mask: { name: likely?.tensor.name ?? null, mode: null, opacity: OPACITY, hideFirst: true },
    mapping: guessMapping(tensors, batched),
    leastScore: LEAST_SCORE,
  };
}

export function useOverlay(layers: Layers, key: string, model: ConsoleModel | null) {
  const [choice, setChoice] = useState(() => chosen.get(key) ?? firstChoice(layers));
  const [at, setAt] = useState({ input: 0, item: 0 });
  const picture = layers.pictures[Math.min(at.input, layers.pictures.length - 1)];
  const item = Math.min(at.item, (picture?.count ?? 1) - 1);
  const change = (part: Partial<Choice>) => {
    const next = { ...choice, ...part };
    chosen.set(key, next);
    setChoice(next);
  };
  const frame = useMemo(() => picture?.frame(item), [picture, item]);
  const shown = layers.masks.find(({ tensor }) => tensor.name === choice.mask.name);
  const { mode, hideFirst } = choice.mask;
  const painted = useMemo(() => {
    if (!shown) return null;
    const size = shown.shape.height * shown.shape.width * shown.shape.channels;
    const values = numbersOf(shown.tensor.elements, layers.batched ? item * size : 0, size);
    return paintMask(values, shown.shape, modeOf(shown, mode), hideFirst);
  }, [shown, layers.batched, item, mode, hideFirst]);
  const chosenBoxes = useMemo(
    () => (frame && choice.mapping ? boxesOf(choice.mapping, layers.tensors, layers.batched, item, frame) : []),
    [frame, choice.mapping, layers, item],
  );
  const raw = useRawBoxes(layers, choice.mapping, item, frame);
  const boxes = raw.boxes ?? chosenBoxes;
  const kept = useMemo(() => boxes.filter(({ score }) => score === null || score >= choice.leastScore), [boxes, choice.leastScore]);
  const { mapping } = choice;
  const boxLabels =
    [mapping?.classes, mapping?.scores, mapping?.boxes].map((name) => (name ? labelsOf(model, name) : null)).find(Boolean) ?? null;
  const maskLabels = shown ? labelsOf(model, shown.tensor.name) : null;
  return { choice, change, picture, frame, item, at, setAt, shown, painted, boxes, kept, search: raw.state, boxLabels, maskLabels };
}

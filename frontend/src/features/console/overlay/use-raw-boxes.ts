/** Boxes chosen among an output's thousands of guesses, by a worker: the page goes on meanwhile. */
import { useEffect, useState } from "react";
import type { OutputTensor } from "../results/output-tensor";
import type { Box } from "./box";
import { valuesOf, type BoxMapping } from "./boxes";
import type { RawBoxesAsked } from "./raw-boxes-worker";

interface Where {
  tensors: readonly OutputTensor[];
  batched: boolean;
}

export interface RawBoxes {
  /** Null where the mapping is of another kind. */
  boxes: Box[] | null;
  state: "none" | "searching" | "found" | "failed";
}

const NONE: RawBoxes = { boxes: null, state: "none" };

export function useRawBoxes(
  { tensors, batched }: Where,
  mapping: BoxMapping | null,
  item: number,
  size: { width: number; height: number } | undefined,
): RawBoxes {
  const [found, setFound] = useState<RawBoxes>(NONE);
  useEffect(() => {
    const tensor = tensors.find(({ name }) => name === mapping?.boxes);
    if (!mapping?.raw || !tensor || !size) {
      setFound(NONE);
      return undefined;
    }
    setFound({ boxes: [], state: "searching" });
    const worker = new Worker(new URL("./raw-boxes-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Box[]>) => setFound({ boxes: data, state: "found" });
    worker.onerror = () => setFound({ boxes: [], state: "failed" });
    const values = valuesOf(tensor, batched, item);
    const [across, down] = mapping.unit === "share" ? [1, 1] : [size.width, size.height];
    const asked: RawBoxesAsked = { values, layout: mapping.raw, across, down };
    worker.postMessage(asked, [values.buffer]);
    return () => worker.terminate();
  }, [tensors, batched, mapping, item, size]);
  return found;
}

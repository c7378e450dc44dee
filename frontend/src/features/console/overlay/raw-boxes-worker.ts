/** Web worker: finds the boxes among thousands of guesses off the main thread. In: the values and how to read them. Out: boxes. */
import type { Box } from "./box";
import { rawBoxes, type RawLayout } from "./raw-boxes";

export interface RawBoxesAsked {
  values: Float64Array;
  layout: RawLayout;
  across: number;
  down: number;
}

self.onmessage = ({ data }: MessageEvent<RawBoxesAsked>) => {
  const boxes: Box[] = rawBoxes(data.values, data.layout, data.across, data.down);
  self.postMessage(boxes);
};

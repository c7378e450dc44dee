/** Figures of a stream of responses. Pure. */
import { t } from "@lingui/core/macro";
import { elementText } from "@/inference/tensor/datatypes";
import type { StreamPart } from "@/inference/socket/messages";
import { firstOf, outputTensor } from "./output-tensor";

export interface StreamFigures {
  count: number;
  /** Microseconds until the first response. */
  firstUs: number | null;
  /** Mean time between responses; null with fewer than two. */
  betweenUs: number | null;
  longestUs: number | null;
  /** Responses per second after the first. */
  rate: number | null;
}

export function streamFigures(parts: readonly StreamPart[]): StreamFigures {
  const first = parts[0]?.atUs ?? null;
  const last = parts.at(-1)?.atUs ?? null;
  const steps = parts.slice(1).map((part, index) => part.atUs - (parts[index]?.atUs ?? 0));
  const span = first !== null && last !== null ? last - first : 0;
  return {
    count: parts.length,
    firstUs: first,
    betweenUs: steps.length > 0 ? span / steps.length : null,
    longestUs: steps.length > 0 ? Math.max(...steps) : null,
    rate: steps.length > 0 && span > 0 ? steps.length / (span / 1e6) : null,
  };
}

/** The text so far, where responses carry texts: tokens put together. Null where they carry none. */
export function streamedText(parts: readonly StreamPart[]): { name: string; text: string } | null {
  const name = parts[0]?.outputs.find((output) => output.datatype === "BYTES")?.name;
  if (name === undefined) return null;
  const text = parts
    .map((part) => part.outputs.find((output) => output.name === name))
    .map((output) => (output ? Array.from(outputTensor(output).elements, elementText).join("") : ""))
    .join("");
  return { name, text };
}

const SHOWN_VALUES = 6;

/** One response in a line. */
export function partSummary(part: StreamPart): string {
  if (part.outputs.length === 0) return t`no outputs`;
  return part.outputs
    .map((output) => {
      const { elements } = outputTensor(output);
      const values = firstOf(elements, SHOWN_VALUES).map(elementText).join(", ");
      return `${output.name} = ${values}${elements.length > SHOWN_VALUES ? ", …" : ""}`;
    })
    .join(" · ");
}

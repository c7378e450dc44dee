/** What cannot be written into a program, and why. Pure. */
import { t } from "@lingui/core/macro";
import type { BuiltInput } from "../tensor/built-input";
import { isLarge } from "./target";

/** Longer texts and files are not written into a program. */
export const MOST_LITERAL = 32 * 1024;

const length = (element: unknown): number =>
  typeof element === "string" ? element.length : element instanceof Uint8Array ? element.length * 2 : 1;

/** Why the inputs cannot be written down; null when they can. Large tensors of numbers travel in files, so they may be. */
export function tooLong(inputs: readonly BuiltInput[]): string | null {
  for (const input of inputs) {
    if (input.datatype !== "BYTES" && isLarge(input)) continue;
    const { elements } = input;
    let size = 0;
    for (let index = 0; index < elements.length; index += 1) {
      size += length(elements[index]);
      if (size > MOST_LITERAL) return t`${input.name} is longer than ${MOST_LITERAL / 1024} KiB: too long to be written into a program.`;
    }
  }
  return null;
}

/** The console's last call as something to write programs of. Pure. */
import type { BuiltInput } from "../request/input-draft";
import type { CallRecord } from "../results/outcome";
import { isLarge, type CodeTarget } from "./target";

export interface LastCall {
  call: Pick<CodeTarget, "deployment" | "model" | "version" | "decoupled" | "parameters" | "outputs">;
  inputs: readonly BuiltInput[];
  at: string;
}

/** The newest comes first in a history. */
export function lastCall(history: readonly CallRecord[]): LastCall | null {
  const newest = history[0];
  if (newest === undefined) return null;
  const { deployment, model, options, parameters, sent, outcome, parts, at } = newest;
  const answered = outcome?.kind === "result" ? outcome : null;
  const outputs = [...(answered?.outputs ?? []), ...parts.flatMap((part) => part.outputs)].map((output) => output.name);
  return {
    call: {
      deployment,
      model,
      version: options.version,
      decoupled: parts.length > 0 || (answered !== null && answered.responses !== null),
      parameters,
      outputs: [...new Set(outputs)],
    },
    inputs: sent,
    at,
  };
}

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
      if (size > MOST_LITERAL) return `${input.name} is longer than ${MOST_LITERAL / 1024} KiB: too long to be written into a program.`;
    }
  }
  return null;
}

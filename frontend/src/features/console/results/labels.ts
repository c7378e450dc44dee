/** The class names of an output, if the model has a label file. */
import type { ConsoleModel } from "@/api/types";

export function labelsOf(model: ConsoleModel | null, output: string): readonly string[] | null {
  return model?.labels?.[output] ?? model?.outputs.find((tensor) => tensor.name === output)?.labels ?? null;
}

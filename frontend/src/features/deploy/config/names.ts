/** Names that the wizard asks for: what is allowed, and what it suggests. */
import { t } from "@lingui/core/macro";
import type { Tensor } from "@/api/types";

const ENDPOINT = /^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$/;
const MODEL = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** null when the name will do. Endpoint and deployment names share one rule. */
export function endpointNameProblem(name: string): string | null {
  if (name.length < 3 || name.length > 32) return t`Use 3 to 32 characters.`;
  if (!ENDPOINT.test(name)) return t`Use letters, digits and dashes; start with a letter, end with a letter or digit.`;
  return null;
}

export function modelNameProblem(name: string): string | null {
  if (name === "") return t`Give the model a name.`;
  if (name.length > 128) return t`Use at most 128 characters.`;
  if (!MODEL.test(name)) return t`Use letters, digits, dot, dash or underscore; start and end with a letter or digit.`;
  return null;
}

interface Signed {
  name: string;
  inputs: readonly Pick<Tensor, "name" | "datatype" | "shape">[];
  outputs: readonly Pick<Tensor, "name" | "datatype" | "shape">[];
}

const tensors = (list: Signed["inputs"]): string =>
  list
    .map((one) => `${one.name} ${one.datatype} [${one.shape.join(", ")}]`)
    .sort()
    .join(", ") || t`nothing`;

/** What one model takes and gives, in whatever order; a pair of models by themselves may be named otherwise. */
export const signature = (models: readonly Signed[]): string =>
  models
    .map((one) => `${models.length === 1 ? "" : `${one.name}: `}${tensors(one.inputs)} → ${tensors(one.outputs)}`)
    .sort()
    .join("; ");

/** The name itself, or with the first number that makes it free. */
export function freeModelName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let number = 2; ; number += 1) if (!taken.includes(`${name}-${number}`)) return `${name}-${number}`;
}

/** An endpoint name from a model's, within the rule. */
export function suggestEndpoint(model: string): string {
  const folded = model
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^[^A-Za-z]+/, "")
    .slice(0, 32)
    .replace(/-+$/, "");
  if (folded.length >= 3) return folded;
  return folded === "" ? "model" : `${folded}-model`;
}

/** blue, then green, then a numbered name: the first that is not taken. */
export function suggestDeployment(taken: readonly string[]): string {
  for (const name of ["blue", "green"]) if (!taken.includes(name)) return name;
  let number = taken.length + 1;
  while (taken.includes(`blue-${number}`)) number += 1;
  return `blue-${number}`;
}

/** The name itself, or with the first number that makes it free. */
export function freeEndpointName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let number = 2; ; number += 1) {
    const tail = `-${number}`;
    const candidate = `${name.slice(0, 32 - tail.length).replace(/-+$/, "")}${tail}`;
    if (!taken.includes(candidate)) return candidate;
  }
}

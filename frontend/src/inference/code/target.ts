/** What every program of a call needs to know. Pure. */
import type { BuiltInput } from "../tensor/built-input";
import type { Parameters } from "../socket/messages";
import { elementCount } from "../tensor/shape";

export interface CodeTarget {
  endpoint: string;
  scoringUri: string;
  grpcTarget: string;
  /** Empty: whom the caller's machine trusts. */
  caPath: string;
  deployment: string | null;
  model: string;
  version: string;
  decoupled: boolean;
  parameters: Parameters;
  outputs: readonly string[];
}

/** Above so many values a tensor is read from a file that the page offers to download. */
const LITERAL_VALUES = 256;
/** The variable of the environment that holds the key. */
export const KEY = "ENDPOINT_KEY";

export const isLarge = (input: Pick<BuiltInput, "shape">): boolean => elementCount(input.shape) > LITERAL_VALUES;

export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;

/** How fields for numbers write them: as the language does. */
import { count, fixed } from "./format";

export const DECIMAL_SEPARATOR = fixed(0.5, 1).charAt(1);
/** Spread over a NumberInput for whole numbers, whose digits are grouped. */
export const DIGIT_GROUPS = { thousandSeparator: count(1_000).charAt(1) };

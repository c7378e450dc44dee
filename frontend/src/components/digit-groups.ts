/** How a field for whole numbers groups their digits: as the language does. Spread over a NumberInput. */
import { count } from "./format";

const thousandSeparator = count(1_000).charAt(1);

export const DIGIT_GROUPS = { thousandSeparator, decimalSeparator: thousandSeparator === "." ? "," : "." };

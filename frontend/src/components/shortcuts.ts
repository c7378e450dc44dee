/** The keys of the studio, as its two lists of them show them: the profile, and `?`. */
import { t } from "@lingui/core/macro";

export const SHORTCUTS: readonly (readonly [keys: string, what: string])[] = [
  [t`Ctrl K`, t`search or jump to anything`],
  ["g o", "overview"],
  ["g d", t`deploy a model`],
  ["g m", "models"],
  ["g e", "endpoints"],
  ["g t", t`test console`],
  ["g n", "nodes"],
  ["g a", "activity"],
  ["g s", "system"],
  ["/", t`filter the list`],
  ["j k", t`move in a list`],
  ["x", t`tick a row, where rows can be ticked`],
  ["Enter", "open"],
  ["?", t`show these keys`],
  [t`Esc`, "close"],
];

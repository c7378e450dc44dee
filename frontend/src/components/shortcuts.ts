/** The keys of the studio, as its two lists of them show them: the profile, and `?`. */
import { t } from "@lingui/core/macro";
import { COMMAND_KEY } from "./command-key";

const ENTER = t`Enter`;

export const SHORTCUTS: readonly (readonly [keys: string, what: string])[] = [
  [`${COMMAND_KEY} K`, t`search or jump to anything`],
  ["g o", t`overview`],
  ["g d", t`deploy a model`],
  ["g m", t`models`],
  ["g e", t`endpoints`],
  ["g t", t`test console`],
  ["g n", t`nodes`],
  ["g a", t`activity`],
  ["g s", t`system`],
  ["/", t`filter the list`],
  ["j k", t`move in a list`],
  ["← →", t`move in a row, over what can be pressed`],
  ["x", t`tick a row, where rows can be ticked`],
  [ENTER, t`open`],
  ["← →", t`in a chart: read it point by point, with Shift ten at a time`],
  [`${ENTER} ${ENTER}`, t`in a chart: begin a selection, and zoom into it; Esc goes back`],
  ["?", t`show these keys`],
  [t`Esc`, t`close`],
];

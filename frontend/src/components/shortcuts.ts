/** The keys of the studio, as its two lists of them show them: the profile, and `?`. */
export const SHORTCUTS: readonly (readonly [keys: string, what: string])[] = [
  ["Ctrl K", "search or jump to anything"],
  ["g o", "overview"],
  ["g d", "deploy a model"],
  ["g m", "models"],
  ["g e", "endpoints"],
  ["g t", "test console"],
  ["g n", "nodes"],
  ["g a", "activity"],
  ["g s", "system"],
  ["/", "filter the list"],
  ["j k", "move in a list"],
  ["x", "tick a row, where rows can be ticked"],
  ["Enter", "open"],
  ["?", "show these keys"],
  ["Esc", "close"],
];

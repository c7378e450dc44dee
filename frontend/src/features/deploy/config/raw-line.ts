/** Places that a runtime's text names. */

/** The line of config.pbtxt in `config.pbtxt:12`, `line 12` or protobuf's `12:3 :`; null when none is named. */
export function lineIn(text: string): number | null {
  const found = /config\.pbtxt[: ]+(?:line )?(\d+)|\bline (\d+)|^[ \t]*(\d+):\d+ ?:/m.exec(text);
  const number = Number(found?.[1] ?? found?.[2] ?? found?.[3] ?? Number.NaN);
  return Number.isInteger(number) && number > 0 ? number : null;
}

/** The line of `config` where a field or tensor named in the failure is written: what to look at first. */
export function lineOfCulprit(failure: string, config: string): number | null {
  const named = lineIn(failure);
  if (named !== null) return named;
  const lines = config.split("\n");
  const words = [...failure.matchAll(/'([^'\n]{1,80})'|"([^"\n]{1,80})"/g)].map((match) => match[1] ?? match[2] ?? "");
  for (const word of words) {
    const at = lines.findIndex((line) => line.includes(`"${word}"`) || line.trimStart().startsWith(`${word}:`));
    // The model's own name says nothing about where.
    if (at >= 0 && !/^\s*name\s*:/.test(lines[at] ?? "")) return at + 1;
    const inner = lines.findIndex((line, index) => index > 0 && line.includes(`name: "${word}"`));
    if (inner > 0) return inner + 1;
  }
  // Enum values are not quoted: KIND_GPU, TYPE_FP32.
  for (const [word] of failure.matchAll(/\b[A-Z]+_[A-Z0-9_]+\b/g)) {
    const at = lines.findIndex((line) => new RegExp(`\\b${word}\\b`).test(line));
    if (at >= 0) return at + 1;
  }
  // Triton writes fields as words: "instance group", "max batch size".
  const said = failure.toLowerCase();
  const at = lines.findIndex((line) => {
    const field = /^\s*([a-z_]+)\s*[:{[]/.exec(line)?.[1];
    return field !== undefined && field.includes("_") && (said.includes(field) || said.includes(field.replaceAll("_", " ")));
  });
  if (at >= 0) return at + 1;
  return null;
}

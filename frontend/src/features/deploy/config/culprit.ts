/** Where in which model's text a failure has its cause, as far as it says. */
import { lineOfCulprit } from "./raw-line";

export interface Culprit {
  /** The name of the model in the repository. */
  repo: string;
  line: number;
}

/** Models that the failure names first: the lines of the others might fit by chance. */
export function culpritOf(failure: string, models: readonly { name: string; text: string }[]): Culprit | null {
  const named = models.filter(({ name }) => failure.includes(`'${name}'`) || failure.includes(`"${name}"`));
  for (const { name, text } of named.length > 0 ? named : models) {
    const line = lineOfCulprit(failure, text);
    if (line !== null) return { repo: name, line };
  }
  return null;
}

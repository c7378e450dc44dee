/** The packages that an environment lists, without comments and what steers pip. */
import type { Environment } from "@/api/types";

export const packagesOf = ({ requirements }: Pick<Environment, "requirements">): string[] =>
  requirements
    .split("\n")
    // pip's rule: a comment begins the line, or stands behind a blank
    .map((line) => (line.startsWith("#") ? "" : ((line.split(" #")[0] ?? "").split("\t#")[0] ?? "")).trim())
    .filter((line) => line !== "" && !line.startsWith("-"));

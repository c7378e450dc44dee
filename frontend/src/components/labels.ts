/** Labels in one line: `zone=a, disk=fast`. */

const parts = (text: string): string[] => text.split(",").flatMap((part) => (part.trim() ? [part.trim()] : []));

export const labelText = (labels: Record<string, string>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");

/** The first part that is not `key=value`; null when all are. */
export const badLabel = (text: string): string | null => parts(text).find((part) => part.indexOf("=") < 1) ?? null;

export const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(parts(text).map((part) => [part.slice(0, part.indexOf("=")).trim(), part.slice(part.indexOf("=") + 1).trim()]));

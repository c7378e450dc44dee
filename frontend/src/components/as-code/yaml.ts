/** JSON-like values as YAML: block style, quotes only where YAML would read something else. */

// Words that a YAML 1.1 reader takes for a boolean or for nothing; numbers and dates are caught by their first sign.
const SPECIAL = /^(?:y|n|yes|no|on|off|true|false|null|none|~)$/i;
const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./@ -]*(?::[A-Za-z0-9_./@-]+)*$/;

function scalar(value: string | number | boolean | null): string {
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${value} has no form in JSON`);
  if (typeof value !== "string") return String(value);
  // why JSON: its strings are YAML strings, whatever they hold.
  return PLAIN.test(value) && !SPECIAL.test(value) && !value.endsWith(" ") ? value : JSON.stringify(value);
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value !== "object";
}

/** A text of several lines keeps its lines: that is what people come to read. */
function literal(value: unknown, indent: string): string | null {
  if (typeof value !== "string" || !value.includes("\n")) return null;
  const lines = value.replace(/\n$/, "").split("\n");
  const readable = !value.startsWith(" ") && !value.startsWith("\n") && !/[\r\t\0]| \n|\n$(?=\n)/.test(value);
  if (!readable || value.endsWith("\n\n")) return null;
  const mark = value.endsWith("\n") ? "|" : "|-";
  return `${mark}\n${lines.map((line) => (line ? `${indent}  ${line}` : "")).join("\n")}`;
}

function below(value: unknown, indent: string): string {
  const text = literal(value, indent);
  if (text !== null) return ` ${text}`;
  if (isScalar(value)) return ` ${scalar(value)}`;
  const nested = block(value, `${indent}  `);
  return nested.startsWith("[") || nested.startsWith("{") ? ` ${nested}` : `\n${nested}`;
}

function block(value: unknown, indent: string): string {
  if (isScalar(value)) return `${indent}${scalar(value)}`;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return value
      .map((item: unknown) =>
        isScalar(item) ? `${indent}-${below(item, indent)}` : `${indent}- ${block(item, `${indent}  `).trimStart()}`,
      )
      .join("\n");
  }
  const entries = Object.entries(value as Record<string, unknown>).filter(([, item]) => item !== undefined);
  if (entries.length === 0) return "{}";
  return entries.map(([key, item]) => `${indent}${scalar(key)}:${below(item, indent)}`).join("\n");
}

/** The document with a newline at its end. Keys whose value is `undefined` are left out. */
export const toYaml = (value: Record<string, unknown>): string => `${block(value, "")}\n`;

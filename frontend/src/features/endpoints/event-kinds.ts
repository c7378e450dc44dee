/** Events by kind, and what an event changed, field by field. */
import { t } from "@lingui/core/macro";
import type { EventItem } from "@/api/types";

export const KINDS = [
  { value: "all", label: t`All` },
  { value: "traffic", label: t`Traffic` },
  { value: "operation", label: t`Operations` },
  { value: "replica", label: t`Replicas` },
  { value: "access", label: t`Keys and access` },
  { value: "failure", label: t`Failures` },
] as const;
export type Kind = (typeof KINDS)[number]["value"];

export function isKind(event: EventItem, kind: Kind): boolean {
  switch (kind) {
    case "all":
      return true;
    case "traffic":
      return /^endpoint\.(traffic|mirror|rules)/.test(event.verb);
    case "operation":
      return event.verb.startsWith("operation.") || event.verb.startsWith("deployment.");
    case "replica":
      return event.verb.startsWith("replica.");
    case "access":
      return /^endpoint\.(key|token|auth)/.test(event.verb);
    case "failure":
      return event.severity !== "info";
  }
}

export interface Change {
  field: string;
  before: string;
  after: string;
}

const NONE = "–";
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string =>
  value === undefined || value === null || value === "" ? NONE : typeof value === "object" ? JSON.stringify(value) : String(value);

/** What `data.before` says against the field of the same kind; traffic deployment by deployment. Empty when nothing was recorded. */
export function changesOf(event: EventItem): Change[] {
  const data = isRecord(event.data) ? event.data : {};
  if (!("before" in data)) return [];
  const field = Object.keys(data).find((key) => key !== "before" && key !== "operation" && key !== "deployment");
  if (field === undefined) return [];
  const [before, after] = [data["before"], data[field]];
  if (!isRecord(before) && !isRecord(after)) return [{ field, before: text(before), after: text(after) }];
  const [old, now] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}];
  const share = field.includes("traffic") ? " %" : "";
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .sort()
    .map((name) => ({
      field: name,
      before: old[name] === undefined ? NONE : `${text(old[name])}${share}`,
      after: now[name] === undefined ? NONE : `${text(now[name])}${share}`,
    }))
    .filter((change) => change.before !== change.after);
}

/** The rest of what was recorded, for those who want to know. */
export function factsOf(event: EventItem): [string, string][] {
  const data = isRecord(event.data) ? event.data : {};
  const shown = new Set(["before", ...(changesOf(event).length > 0 ? Object.keys(data).filter((key) => isRecord(data[key])) : [])]);
  return Object.entries(data)
    .filter(([key]) => !shown.has(key))
    .map(([key, value]) => [key, text(value)]);
}

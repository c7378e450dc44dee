/** Events as a table for a spreadsheet (RFC 4180). */
import type { EventItem } from "@/api/types";

const COLUMNS = ["seq", "at", "severity", "actor", "verb", "subject", "message", "data"] as const;

/** A cell; a leading sign that a spreadsheet would take for a formula is made harmless. */
export function csvCell(value: unknown): string {
  const text = typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function eventsCsv(events: readonly EventItem[]): string {
  const rows = events.map((event) => COLUMNS.map((column) => csvCell(event[column])).join(","));
  return `${[COLUMNS.join(","), ...rows].join("\r\n")}\r\n`;
}

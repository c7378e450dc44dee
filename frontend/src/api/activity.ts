/** The log of everything that happened, filtered and page by page. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { apiPath, get } from "./client";
import { keys } from "./keys";
import type { AuditVerification, EventItem, Page } from "./types";

export interface EventFilter {
  q?: string;
  kind?: string;
  subject?: string;
  actor?: string;
  severity?: EventItem["severity"];
  since?: string;
  until?: string;
}

const PAGE = 100;
/** So many rows go into one export at most; a longer one is narrowed by the filter. */
export const EXPORT_LIMIT = 10_000;

const readPage = (filter: EventFilter, cursor: string | null, limit: number, signal?: AbortSignal) =>
  get<Page<EventItem>>(apiPath("events"), { query: { ...filter, cursor, limit }, ...(signal ? { signal } : {}) });

export const activityQuery = (filter: EventFilter) =>
  infiniteQueryOptions({
    queryKey: keys.activity({ ...filter }),
    queryFn: ({ pageParam, signal }) => readPage(filter, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

/** Everything that the filter lets through, newest first, up to the limit. */
export async function readAll(filter: EventFilter): Promise<{ events: EventItem[]; complete: boolean }> {
  const events: EventItem[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<EventItem> = await readPage(filter, cursor, 500);
    events.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && events.length < EXPORT_LIMIT);
  return { events, complete: cursor === null };
}

/** Where the server writes the same as a file, of any length; for operators, and itself on record. */
export function exportAddress(filter: EventFilter): string {
  const query = new URLSearchParams({ file_format: "csv" });
  for (const [name, value] of Object.entries(filter)) if (value) query.set(name, value);
  return `${apiPath("events", "export")}?${query.toString()}`;
}

/** Walks the whole chain: has anything been changed, removed or slipped in? */
export const verifyLog = () => get<AuditVerification>(apiPath("events", "verify"));

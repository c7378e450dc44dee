/** The log of everything that happened, filtered and page by page. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { apiPath } from "./paths";
import type { EventItem, EventPage } from "./types";

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

const readPage = ({ severity, ...rest }: EventFilter, cursor: string, limit: number, signal?: AbortSignal) =>
  answer(
    api.GET("/api/v1/events", {
      params: { query: { ...rest, ...(severity ? { severity: [severity] } : {}), cursor, limit } },
      ...(signal ? { signal } : {}),
    }),
  );

export const activityQuery = (filter: EventFilter) =>
  infiniteQueryOptions({
    queryKey: keys.activity({ ...filter }),
    queryFn: ({ pageParam, signal }) => readPage(filter, pageParam, PAGE, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
  });

/** The newest event of a kind; `state` is what it has led to, so that another state asks anew. */
export const latestEventQuery = (filter: { subject: string; verb: string }, state: string) =>
  queryOptions({
    queryKey: [...keys.activity(filter), "latest", state],
    queryFn: async ({ signal }): Promise<EventItem | null> => {
      const page = await answer(api.GET("/api/v1/events", { params: { query: { ...filter, limit: 1 } }, signal }));
      return page.items[0] ?? null;
    },
    staleTime: 0,
  });

/** Everything that the filter lets through, newest first, up to the limit. */
export async function readAll(filter: EventFilter): Promise<{ events: EventItem[]; complete: boolean }> {
  const events: EventItem[] = [];
  let cursor: string | null = "";
  do {
    const page: EventPage = await readPage(filter, cursor, 500);
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
export const verifyLog = () => answer(api.GET("/api/v1/events/verify"));

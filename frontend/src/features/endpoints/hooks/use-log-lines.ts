/** Follows the log of a deployment: the tail first, then what is new. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type LogQuery, readLogs } from "@/api/endpoints";
import type { LogLine } from "@/api/types";
import { appendLines, MAX_LINES, prependLines } from "../log-buffer";

const TAIL = 2_000;
const PAGE = 5_000;
const POLL_MS = 1_500;
const NO_LINES: LogLine[] = [];

export interface LogLines {
  lines: LogLine[];
  loading: boolean;
  error: unknown;
  retry: () => void;
  /** Null when there is nothing older, or no room for it. */
  earlier: (() => Promise<void>) | null;
}

/** What the server looks for in all that it keeps of the deployment. */
export type LogSearch = Pick<LogQuery, "q" | "level" | "stream" | "replica" | "since" | "until">;

/** What is held of one search: another begins with nothing. */
interface Held {
  lines: LogLine[];
  /** The newest line that the server has looked at: what fits no search is not looked at twice. */
  seen: number | undefined;
  /** Nothing that fits is older. */
  beginning: boolean;
}

export function useLogLines(endpoint: string, deployment: string, search: LogSearch, paused: boolean): LogLines {
  const client = useQueryClient();
  const queryKey = ["logs", endpoint, deployment, search] as const;
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<Held> => {
      const after = client.getQueryData<Held>(queryKey)?.seen;
      const asked = { ...search, tail: TAIL, ...(after === undefined ? {} : { after }) };
      const { lines: fresh, last_id } = await readLogs(endpoint, deployment, asked, signal);
      // why only now: earlier lines may have come while this was asked.
      const held = client.getQueryData<Held>(queryKey);
      if (held && last_id === null) return held;
      return {
        lines: appendLines(held?.lines ?? NO_LINES, fresh),
        seen: last_id ?? after,
        beginning: after === undefined ? fresh.length < TAIL : (held?.beginning ?? false),
      };
    },
    refetchInterval: paused ? false : POLL_MS,
    staleTime: 0,
    gcTime: 0,
    // why: comparing 20,000 lines with themselves at each answer.
    structuralSharing: false,
  });
  const { lines = NO_LINES, beginning = true } = query.data ?? {};
  const earlier = async () => {
    const before = lines[0]?.id;
    if (before === undefined) return;
    const { lines: older } = await readLogs(endpoint, deployment, { ...search, before, tail: PAGE });
    client.setQueryData<Held>(
      queryKey,
      (held) => held && { ...held, lines: prependLines(held.lines, older), beginning: older.length < PAGE },
    );
  };
  return {
    earlier: beginning || lines.length === 0 || lines.length >= MAX_LINES ? null : earlier,
    lines,
    loading: query.isPending,
    error: query.error,
    retry: () => void query.refetch(),
  };
}

/** Follows the log of a deployment: the tail first, then what is new. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type LogQuery, readLogs } from "@/api/endpoints";
import type { LogLine } from "@/api/types";
import { appendLines, MAX_LINES, prependLines } from "../log-buffer";

const TAIL = 2_000;
const PAGE = 5_000;
const POLL_MS = 1_500;

export interface LogLines {
  lines: LogLine[];
  loading: boolean;
  error: unknown;
  retry: () => void;
  /** Null when there is nothing older, or no room for it. */
  earlier: (() => Promise<void>) | null;
}

/** What the server looks for in all that it keeps of the deployment. */
export type LogSearch = Pick<LogQuery, "q" | "level" | "stream" | "replica">;

export function useLogLines(endpoint: string, deployment: string, search: LogSearch, paused: boolean): LogLines {
  const searched = JSON.stringify(search);
  const [lines, setLines] = useState<LogLine[]>([]);
  const held = useRef<LogLine[]>([]);
  /** The newest line that the server has looked at: what fits no search is not looked at twice. */
  const seen = useRef<number | undefined>(undefined);
  const [beginning, setBeginning] = useState(false);
  const query = useQuery({
    queryKey: ["logs", endpoint, deployment, searched],
    queryFn: async ({ signal }) => {
      const after = seen.current;
      const asked = { ...search, tail: TAIL, ...(after === undefined ? {} : { after }) };
      const { lines: fresh, last_id } = await readLogs(endpoint, deployment, asked, signal);
      seen.current = last_id ?? after;
      if (after === undefined) setBeginning(fresh.length < TAIL);
      held.current = appendLines(held.current, fresh);
      setLines(held.current);
      return held.current.length;
    },
    refetchInterval: paused ? false : POLL_MS,
    staleTime: 0,
    gcTime: 0,
  });
  useEffect(() => {
    held.current = [];
    seen.current = undefined;
    setLines([]);
  }, [endpoint, deployment, searched]);
  const earlier = async () => {
    const before = held.current[0]?.id;
    if (before === undefined) return;
    const { lines: older } = await readLogs(endpoint, deployment, { ...search, before, tail: PAGE });
    setBeginning(older.length < PAGE);
    held.current = prependLines(held.current, older);
    setLines(held.current);
  };
  return {
    earlier: beginning || lines.length === 0 || lines.length >= MAX_LINES ? null : earlier,
    lines,
    loading: query.isPending,
    error: query.error,
    retry: () => void query.refetch(),
  };
}

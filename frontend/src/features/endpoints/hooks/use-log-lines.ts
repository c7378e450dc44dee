/** Follows the log of a deployment: the tail first, then what is new. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { readLogs } from "@/api/endpoints";
import type { LogLine } from "@/api/types";
import { appendLines } from "../log-buffer";

const TAIL = 2_000;
const POLL_MS = 1_500;

export interface LogLines {
  lines: LogLine[];
  loading: boolean;
  error: unknown;
  retry: () => void;
}

export function useLogLines(endpoint: string, deployment: string, paused: boolean): LogLines {
  const [lines, setLines] = useState<LogLine[]>([]);
  const held = useRef<LogLine[]>([]);
  const query = useQuery({
    queryKey: ["logs", endpoint, deployment],
    queryFn: async ({ signal }) => {
      const after = held.current[held.current.length - 1]?.id;
      const { lines: fresh } = await readLogs(endpoint, deployment, after === undefined ? { tail: TAIL } : { after, tail: TAIL }, signal);
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
    setLines([]);
  }, [endpoint, deployment]);
  return { lines, loading: query.isPending, error: query.error, retry: () => void query.refetch() };
}

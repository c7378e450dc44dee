/** The log of one replica: the last lines, then what comes behind them, every other second. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { readLogs } from "@/api/endpoints";
import type { LogLine, Replica } from "@/api/types";

const FIRST = 500;
const KEPT = 5_000;
const EVERY_MS = 2_000;

export function useReplicaLog(replica: Replica | undefined) {
  const queryClient = useQueryClient();
  const queryKey = ["replica-log", replica?.id ?? ""];
  return useQuery({
    queryKey,
    enabled: replica !== undefined,
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }): Promise<LogLine[]> => {
      if (!replica) return [];
      const known = queryClient.getQueryData<LogLine[]>(queryKey) ?? [];
      const after = known.at(-1)?.id;
      const wanted = after === undefined ? { tail: FIRST, replica: replica.id } : { after, tail: FIRST, replica: replica.id };
      const { lines } = await readLogs(replica.endpoint, replica.deployment, wanted, signal);
      return lines.length === 0 ? known : [...known, ...lines].slice(-KEPT);
    },
  });
}

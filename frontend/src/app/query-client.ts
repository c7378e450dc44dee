/** Defaults of server state: no retry of answers that will not change, one retry of the rest. */
import { notifyManager, QueryClient } from "@tanstack/react-query";
import { toProblem } from "@/api/problem";

// why not with the next timer, as it comes: a second click on a button would find it as it was, and send again what is being sent.
notifyManager.setScheduler(queueMicrotask);

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        refetchOnWindowFocus: true,
        retry: (failures, error) => {
          const { status } = toProblem(error);
          const worthIt = status === 0 || status >= 500;
          return worthIt && failures < 2;
        },
      },
      mutations: { retry: false },
    },
  });
}

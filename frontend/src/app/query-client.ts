/** Defaults of server state: no retry of answers that will not change, one retry of the rest. */
import { QueryClient } from "@tanstack/react-query";
import { toProblem } from "@/api/problem";

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

/** The whole installation, live: the overview's topic keeps the query of the overview up to date. */
import { useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import type { Overview } from "@/api/types";
import { useTopic } from "./hooks";

/** Every two seconds while mounted. The page reads its query as ever, which also polls while the link is down. */
export function useLiveOverview(): void {
  const queryClient = useQueryClient();
  useTopic("overview", (frame) => {
    if (frame.type === "state") queryClient.setQueryData(keys.overview, frame.data as Overview);
  });
}

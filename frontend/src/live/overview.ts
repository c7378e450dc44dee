/** The whole installation, live: the overview's topic keeps the queries of overview and nodes up to date. */
import { useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import type { Overview } from "@/api/types";
import { useTopic } from "./hooks";

/** Every two seconds while mounted. Pages read the queries as ever, which also poll while the link is down. */
export function useLiveOverview(): void {
  const queryClient = useQueryClient();
  useTopic("overview", (frame) => {
    if (frame.type !== "state") return;
    const overview = frame.data as Overview;
    queryClient.setQueryData(keys.overview, overview);
    // Only where the page holds the same nodes: a list in pages is not this one.
    queryClient.setQueryData(keys.nodes.list, (old: { items: unknown[]; next_cursor: string | null } | undefined) =>
      old && old.next_cursor === null ? { ...old, items: overview.nodes } : old,
    );
    for (const node of overview.nodes) {
      if (queryClient.getQueryData(keys.nodes.one(node.name))) queryClient.setQueryData(keys.nodes.one(node.name), node);
    }
  });
}

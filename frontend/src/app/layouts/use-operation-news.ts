/** Keeps the list of operations fresh, and tells when one ends that was running before. */
import { t } from "@lingui/core/macro";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { keys } from "@/api/keys";
import { operationsQuery } from "@/api/operations";
import { paths } from "@/app/paths";
import { notifyNews, notifyProblem } from "@/components/notify";
import { operationTitle } from "@/components/operation-titles";
import { useEvents } from "@/live/hooks";
import { endedSince, statesOf } from "./operation-news";

export function useOperationNews(): void {
  const queryClient = useQueryClient();
  const { data } = useQuery({ ...operationsQuery(), refetchInterval: 15_000 });
  useEvents((event) => {
    if (event.subject.startsWith("endpoint/")) void queryClient.invalidateQueries({ queryKey: keys.operations.all });
  });
  const seen = useRef<ReturnType<typeof statesOf>>(new Map());
  useEffect(() => {
    if (!data) return;
    for (const operation of endedSince(seen.current, data.items)) {
      if (operation.state === "Succeeded") notifyNews(t`${operationTitle(operation)}: done`, paths.operation(operation.id));
      else if (operation.state === "Failed") {
        notifyProblem(
          new Error(operation.error?.message ?? t`It failed`),
          t`${operationTitle(operation)} failed`,
          paths.operation(operation.id),
        );
      }
    }
    seen.current = statesOf(data.items);
  }, [data]);
}

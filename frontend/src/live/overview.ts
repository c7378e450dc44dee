/** The whole installation, live: the overview's topic keeps the query of the overview up to date. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import type { Overview } from "@/api/types";
import { Shown } from "./changes";
import { useTopic } from "./hooks";
import { live } from "./live";

const TOPIC = "overview";

/** Every two seconds while mounted. The page reads its query as ever, which also polls while the link is down. */
export function useLiveOverview(): void {
  const queryClient = useQueryClient();
  const [shown] = useState(() => new Shown());
  useTopic(
    TOPIC,
    (frame) => {
      if (frame.type !== "state" && frame.type !== "change") return;
      const now = shown.accept(frame);
      if (now === undefined) live().renew(TOPIC);
      else queryClient.setQueryData(keys.overview, now as Overview);
    },
    { changes: true },
  );
}

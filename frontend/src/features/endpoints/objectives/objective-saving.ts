/** One objective as a part of its endpoint, whose tag says what of it one has seen. */
import { t } from "@lingui/core/macro";
import { useState } from "react";
import { keys } from "@/api/keys";
import type { Endpoint } from "@/api/types";
import { type Saving, useSaving } from "@/components/saving";
import { promise } from "./words";

type Promised = Endpoint["objectives"][number];

export const promised = (endpoint: Endpoint, name: string): Promised | null => endpoint.objectives.find((one) => one.name === name) ?? null;

export function promiseNow(endpoint: Endpoint, name: string): string {
  const now = promised(endpoint, name);
  return now ? promise(now) : t`There is no ${name} any more.`;
}

/** For a dialog that is mounted as it opens: what its endpoint was then is what one has seen. */
export function useObjectiveSaving(endpoint: Endpoint, name: string): Saving<Endpoint, Promised | null> {
  const [seen] = useState(endpoint);
  return useSaving({ thing: seen, part: (shown: Endpoint) => promised(shown, name), shownBy: keys.endpoints.one(endpoint.name) });
}

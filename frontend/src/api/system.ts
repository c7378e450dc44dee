/** How each part of the installation does. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, get } from "./client";
import { keys } from "./keys";
import type { System } from "./types";

export const systemQuery = () =>
  queryOptions({
    queryKey: keys.system,
    queryFn: ({ signal }) => get<System>(apiPath("system"), { signal }),
    refetchInterval: 5_000,
  });

/** How each part of the installation does. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";

export const systemQuery = () =>
  queryOptions({
    queryKey: keys.system,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/system", { signal })),
    refetchInterval: 5_000,
  });

/** Whom clients of endpoints should trust. */
export const authorityQuery = () =>
  queryOptions({
    queryKey: keys.authority,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/ca", { signal })),
    staleTime: 300_000,
  });

/** One that is silent, and serves no more. */
export const deleteGateway = (gateway: string) => answer(api.DELETE("/api/v1/gateways/{gateway}", { params: { path: { gateway } } }));

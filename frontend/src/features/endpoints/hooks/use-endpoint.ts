/** The endpoint of the current page: loaded by the layout, so the tabs can count on it. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { endpointQuery } from "@/api/endpoints";
import type { Endpoint } from "@/api/types";

export function useEndpoint(): Endpoint {
  const { name } = useParams({ from: "/app/endpoints/$name" });
  return useSuspenseQuery(endpointQuery(name)).data;
}

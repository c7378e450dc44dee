/** Objectives of endpoints, alerts, silences, and where alerts are told. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import type { Alert, AlertRuleChange, AlertThreshold, ThresholdKind, ChannelInput, Delivery, ObjectiveInput, SilenceInput } from "./types";

/** The control plane looks every 15 s. */
const REFETCH_MS = 10_000;
const PAGE = 50;

export const objectivesQuery = (endpoint: string) =>
  queryOptions({
    queryKey: keys.endpoints.objectives(endpoint),
    queryFn: async ({ signal }) => {
      const found = await answer(api.GET("/api/v1/endpoints/{endpoint}/objectives", { params: { path: { endpoint } }, signal }));
      return found.items;
    },
    refetchInterval: REFETCH_MS,
  });

export const objectiveHistoryQuery = (endpoint: string, objective: string) =>
  queryOptions({
    queryKey: keys.endpoints.objectiveHistory(endpoint, objective),
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/endpoints/{endpoint}/objectives/{objective}/history", { params: { path: { endpoint, objective } }, signal })),
    refetchInterval: 60_000,
  });

/** `seen`: the `etag` of the endpoint, as it was read; where others have changed it since, that is refused (412). */
const objectiveOf = (endpoint: string, objective: string, seen: string) => ({
  params: { path: { endpoint, objective }, header: { "If-Match": seen } },
});

export const setObjective = (endpoint: string, name: string, body: ObjectiveInput, seen: string) =>
  answer(api.PUT("/api/v1/endpoints/{endpoint}/objectives/{objective}", { ...objectiveOf(endpoint, name, seen), body }));
export const deleteObjective = (endpoint: string, name: string, seen: string) =>
  answer(api.DELETE("/api/v1/endpoints/{endpoint}/objectives/{objective}", objectiveOf(endpoint, name, seen)));

export const alertCountsQuery = () =>
  queryOptions({
    queryKey: keys.alerts.counts,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/alerts/counts", { signal })),
    refetchInterval: REFETCH_MS,
  });

export const activeAlertsQuery = () =>
  queryOptions({
    queryKey: keys.alerts.active,
    queryFn: async ({ signal }) => {
      const query = { state: "pending,firing", limit: 500 };
      return (await answer(api.GET("/api/v1/alerts", { params: { query }, signal }))).items;
    },
    refetchInterval: REFETCH_MS,
  });

export const pastAlertsQuery = () =>
  infiniteQueryOptions({
    queryKey: keys.alerts.history,
    queryFn: ({ pageParam, signal }) => {
      const query = { state: "resolved", limit: PAGE, cursor: pageParam };
      return answer(api.GET("/api/v1/alerts", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
  });

export const acknowledgeAlert = (alert: Alert) =>
  answer(api.POST("/api/v1/alerts/{alert_id}/acknowledge", { params: { path: { alert_id: alert.id } } }));

export const alertRulesQuery = () =>
  queryOptions({
    queryKey: keys.alerts.rules,
    queryFn: async ({ signal }) => (await answer(api.GET("/api/v1/alert-rules", { signal }))).items,
  });

export const changeAlertRule = (rule: string, body: AlertRuleChange) =>
  answer(api.PATCH("/api/v1/alert-rules/{rule}", { params: { path: { rule } }, body }));

const KINDS: readonly ThresholdKind[] = ["project", "endpoint", "node"];

const thresholdOf = ({ rule, about, etag }: Pick<AlertThreshold, "rule" | "about"> & { etag?: string }) => {
  const kind = KINDS.find((one) => about.startsWith(`${one}/`));
  if (!kind) throw new Error(`${about}: expected ${KINDS.join(", ")} and a name`);
  const path = { rule, kind, name: about.slice(kind.length + 1) };
  return { params: { path, ...(etag === undefined ? {} : { header: { "If-Match": etag } }) } };
};

/** Over what was seen, if anything was. */
export const setAlertThreshold = (seen: Pick<AlertThreshold, "rule" | "about"> & { etag?: string }, threshold: number) =>
  answer(api.PUT("/api/v1/alert-rules/{rule}/thresholds/{kind}/{name}", { ...thresholdOf(seen), body: { threshold } }));
export const removeAlertThreshold = (seen: AlertThreshold) =>
  answer(api.DELETE("/api/v1/alert-rules/{rule}/thresholds/{kind}/{name}", thresholdOf(seen)));

export const silencesQuery = () =>
  queryOptions({
    queryKey: keys.alerts.silences,
    queryFn: async ({ signal }) => (await answer(api.GET("/api/v1/silences", { params: { query: { limit: 100 } }, signal }))).items,
  });

export const createSilence = (body: SilenceInput) => answer(api.POST("/api/v1/silences", { body }));
export const endSilence = (id: string) => answer(api.DELETE("/api/v1/silences/{silence_id}", { params: { path: { silence_id: id } } }));

export const channelsQuery = () =>
  queryOptions({
    queryKey: keys.alerts.channels,
    queryFn: async ({ signal }) => (await answer(api.GET("/api/v1/channels", { params: { query: { limit: 500 } }, signal }))).items,
  });

const channelOf = (channel: string) => ({ params: { path: { channel } } });

export const createChannel = (body: ChannelInput) => answer(api.POST("/api/v1/channels", { body }));
export const setChannelEnabled = (channel: string, enabled: boolean) =>
  answer(api.PATCH("/api/v1/channels/{channel}", { ...channelOf(channel), body: { enabled } }));
export const deleteChannel = (channel: string) => answer(api.DELETE("/api/v1/channels/{channel}", channelOf(channel)));
export const testChannel = (channel: string) => answer(api.POST("/api/v1/channels/{channel}/test", channelOf(channel)));

export const deliveriesQuery = (channel: string) =>
  queryOptions({
    queryKey: keys.alerts.deliveries(channel),
    queryFn: async ({ signal }) =>
      (await answer(api.GET("/api/v1/channels/{channel}/deliveries", { params: { path: { channel }, query: { limit: 50 } }, signal })))
        .items,
    refetchInterval: 5_000,
  });

export const replayDelivery = (one: Delivery) =>
  answer(
    api.POST("/api/v1/channels/{channel}/deliveries/{delivery_id}/replay", {
      params: { path: { channel: one.channel, delivery_id: one.id } },
    }),
  );

/** React's side of the live data: subscribing for as long as a component is shown. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { pipelineQuery } from "@/api/bottlenecks";
import { endpointQuery, readMetrics } from "@/api/endpoints";
import { keys } from "@/api/keys";
import type { Endpoint, EventItem, Operation, Pipeline } from "@/api/types";
import type { Frame } from "./frames";
import { live } from "./live";
import { pollWhileDown } from "./polling";
import { Series } from "./series";
import type { LiveState, SubscribeOptions } from "./socket";

/** Long enough to bridge a few polls that failed. */
const POLL_RANGE_S = 30;

/** State of the link, for the pill and for dimming. */
export function useLiveState(): LiveState {
  const socket = live();
  return useSyncExternalStore(
    (listener) => socket.onState(listener),
    () => socket.state,
  );
}

/** Hears the frames of a topic while mounted; null subscribes to nothing. */
export function useTopic(topic: string | null, onFrame: (frame: Frame) => void, options: SubscribeOptions = {}): void {
  const handler = useRef(onFrame);
  useEffect(() => {
    handler.current = onFrame;
  });
  const range = options.range;
  const afterSeq = options.after_seq;
  const changes = options.changes;
  useEffect(() => {
    if (topic === null) return undefined;
    const subscription: SubscribeOptions = {
      ...(range === undefined ? {} : { range }),
      ...(afterSeq === undefined ? {} : { after_seq: afterSeq }),
      ...(changes === undefined ? {} : { changes }),
    };
    return live().subscribe(topic, subscription, (frame) => handler.current(frame));
  }, [topic, range, afterSeq, changes]);
}

/** Live metrics of an endpoint as a `Series`; its state frames keep the endpoint's query up to date. */
export function useEndpointSeries(name: string, range: number): Series {
  const queryClient = useQueryClient();
  const series = useMemo(() => {
    // why named here: another endpoint is another memory.
    void name;
    return new Series();
  }, [name]);
  useTopic(
    `endpoint:${name}`,
    (frame) => {
      if (frame.type === "state") queryClient.setQueryData(keys.endpoints.one(name), frame.data as Endpoint);
      else series.accept(frame);
    },
    { range },
  );
  useEffect(
    () =>
      pollWhileDown(
        live(),
        async () => {
          series.merge(await readMetrics(name, { range: series.version === 0 ? range : POLL_RANGE_S }));
          queryClient.setQueryData(keys.endpoints.one(name), await queryClient.fetchQuery({ ...endpointQuery(name), staleTime: 0 }));
        },
        { setTimer: (run, ms) => window.setTimeout(run, ms), clearTimer: (timer) => window.clearTimeout(timer as number) },
      ),
    [name, queryClient, range, series],
  );
  return series;
}

/** Keeps the figures of a deployment's models up to date from their topic, and over HTTP while the link is down. */
export function usePipelineUpdates(endpoint: string, deployment: string): void {
  const queryClient = useQueryClient();
  const key = keys.endpoints.pipeline(endpoint, deployment);
  useTopic(deployment === "" ? null : `pipeline:${endpoint}/${deployment}`, (frame) => {
    if (frame.type === "state") queryClient.setQueryData(key, frame.data as Pipeline);
    // It ends where the deployment is gone: what is shown is asked for again, and says so.
    else if (frame.type === "error") void queryClient.invalidateQueries({ queryKey: key });
  });
  useEffect(
    () =>
      pollWhileDown(live(), () => queryClient.fetchQuery({ ...pipelineQuery(endpoint, deployment), staleTime: 0 }), {
        setTimer: (run, ms) => window.setTimeout(run, ms),
        clearTimer: (timer) => window.clearTimeout(timer as number),
      }),
    [deployment, endpoint, queryClient],
  );
}

/** Keeps an operation's query up to date from its topic. */
export function useOperationUpdates(id: string | null): void {
  const queryClient = useQueryClient();
  useTopic(id === null ? null : `operation:${id}`, (frame) => {
    if (frame.type === "state" && id !== null) queryClient.setQueryData(keys.operations.one(id), frame.data as Operation);
  });
}

/** Hears new events, all that one may read; after a break that lasted too long, all is read anew. */
export function useEvents(onEvent: (event: EventItem) => void): void {
  const queryClient = useQueryClient();
  useTopic("events", (frame) => {
    if (frame.type === "event") onEvent(frame.data as EventItem);
    else if (frame.type === "position" && !frame.complete) void queryClient.invalidateQueries();
  });
}

/** Re-renders when the set of series changes, not when values do. */
export function useSeriesKeys(series: Series): readonly string[] {
  const version = useSyncExternalStore(
    (listener) => series.onStructure(listener),
    () => series.version,
  );
  return useMemo(() => (version >= 0 ? series.ring.keys : []), [series, version]);
}

/** For half a minute after traffic was moved: how the deployment that got it does, and the way back. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { CloseButton } from "@mantine/core";
import { IconArrowBackUp } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readMetrics, setTraffic } from "@/api/endpoints";
import { keys } from "@/api/keys";
import type { Endpoint } from "@/api/types";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { ToneIcon } from "@/components/status";
import { sameSplit, splitText } from "../traffic";
import { isBeingRouted } from "../components/unconfirmed-note";
import { endWatch, type TrafficWatch, useWatch } from "./store";
import classes from "./traffic-watch.module.css";
import { BEFORE_S, verdict, type Verdict, WATCH_METRICS, WATCH_S } from "./verdict";

const POLL_MS = 2_000;
const STEP_S = 5;
/** So long after the half minute the last answers are still on their way. */
const GRACE_S = 6;
const WORDS: Record<Verdict["tone"], string> = { info: t`Watching`, ok: t`Good`, warn: t`Warning`, error: t`Error` };

/** Seconds since the change, counted while the banner is shown. */
function useAge(changedAt: number): number {
  const [age, setAge] = useState(() => (Date.now() - changedAt) / 1000);
  const over = age > WATCH_S + GRACE_S;
  useEffect(() => {
    if (over) return undefined;
    const timer = window.setInterval(() => setAge((Date.now() - changedAt) / 1000), 1_000);
    return () => window.clearInterval(timer);
  }, [changedAt, over]);
  return age;
}

function Banner({ endpoint, watch }: { endpoint: Endpoint; watch: TrafficWatch }) {
  const queryClient = useQueryClient();
  const { before, after, changedAt } = watch;
  const names = Object.keys(after);
  const age = useAge(changedAt);
  const watching = age <= WATCH_S + GRACE_S;
  const { data } = useQuery({
    queryKey: [...keys.endpoints.one(endpoint.name), "watch", changedAt],
    queryFn: async ({ signal }) => {
      const passed = (Date.now() - changedAt) / 1000;
      const columns = await readMetrics(
        endpoint.name,
        { range: Math.ceil(BEFORE_S + passed), step: STEP_S, metrics: WATCH_METRICS },
        signal,
      );
      // why from its end: the clocks of browser and server may differ.
      return { columns, at: (columns.t[columns.t.length - 1] ?? 0) - passed };
    },
    refetchInterval: watching ? POLL_MS : false,
    staleTime: 0,
  });
  const undo = useMutation({
    mutationFn: () => setTraffic(endpoint.name, before, endpoint.etag),
    onSuccess: (updated) => {
      queryClient.setQueryData(keys.endpoints.one(endpoint.name), updated);
      endWatch(endpoint.name);
      notifyDone(t`The traffic is back at ${splitText(before, names)}`);
    },
    onError: (error) => notifyProblem(error, t`The traffic could not be moved back`),
  });
  const found = verdict(data?.columns ?? null, before, after, data?.at ?? 0);
  const current = sameSplit(endpoint.traffic, after);
  const routing = current && isBeingRouted(endpoint);
  const fine = found.tone === "ok" || found.tone === "info";
  useEffect(() => {
    if (!watching && fine) endWatch(endpoint.name);
  }, [watching, fine, endpoint.name]);
  return (
    <section className={classes["banner"]} data-tone={found.tone} aria-label={t`Traffic change`}>
      <ToneIcon tone={found.tone} label={WORDS[found.tone]} />
      <div className={classes["words"]}>
        <p role={found.tone === "error" ? "alert" : "status"}>
          <b>
            {routing
              ? t`Routing ${splitText(after, names)}. Gateways have not confirmed it yet`
              : t`Traffic is now ${splitText(after, names)}. ${found.title}`}
          </b>
        </p>
        <p className={classes["detail"]}>
          {found.detail}{" "}
          {watching && age < WATCH_S ? (
            <span className="muted">
              <Trans>{Math.ceil(WATCH_S - age)} s left to watch.</Trans>
            </span>
          ) : null}
        </p>
      </div>
      {current ? (
        <RefusingButton
          needs="deploy"
          variant="default"
          leftSection={<IconArrowBackUp size={15} />}
          loading={undo.isPending}
          onClick={() => undo.mutate()}
        >
          <Trans>Undo: back to {splitText(before, names)}</Trans>
        </RefusingButton>
      ) : (
        <span className="muted">
          <Trans>It has been changed since.</Trans>
        </span>
      )}
      <CloseButton aria-label={t`Stop watching`} onClick={() => endWatch(endpoint.name)} />
    </section>
  );
}

export function TrafficWatchBanner({ endpoint }: { endpoint: Endpoint }) {
  const watch = useWatch(endpoint.name);
  return watch ? <Banner key={watch.changedAt} endpoint={endpoint} watch={watch} /> : null;
}

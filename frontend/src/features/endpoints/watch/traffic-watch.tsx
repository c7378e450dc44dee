/** After traffic was moved, whoever did it: how those that got more do, and the way back. The server holds it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { CloseButton } from "@mantine/core";
import { IconArrowBackUp } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { endpointQuery, trafficWatchQuery, undoTraffic } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { problemText, wasOvertaken } from "@/api/problem";
import type { Endpoint, TrafficChange } from "@/api/types";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { ToneIcon } from "@/components/status";
import { Time } from "@/components/time";
import { sameSplit, splitText } from "../traffic";
import { dismiss, isDismissed } from "./dismissed";
import classes from "./traffic-watch.module.css";
import { isTold, verdict, type Verdict } from "./verdict";

const WORDS: Record<Verdict["tone"], string> = { info: t`Watching`, ok: t`Good`, warn: t`Warning`, error: t`Error` };

/** What was moved, and what it is now: shares, or rules alone. */
function wordsOf({ state, before, after, undone_by }: TrafficChange, names: readonly string[], title: string): string {
  const rules = sameSplit(before.traffic, after.traffic);
  const [old, made] = [splitText(before.traffic, names), splitText(after.traffic, names)];
  if (state === "undone")
    return rules ? t`${undone_by} has put the rules back` : t`${undone_by} has put the traffic back: it is ${old} again`;
  if (state === "routing") {
    return rules ? t`Routing the new rules. Gateways have not confirmed them yet` : t`Routing ${made}. Gateways have not confirmed it yet`;
  }
  return rules ? t`The rules are new. ${title}` : t`Traffic is now ${made}. ${title}`;
}

function Banner({ endpoint, change, onClose }: { endpoint: Endpoint; change: TrafficChange; onClose: () => void }) {
  const queryClient = useQueryClient();
  const { data, error } = useQuery(trafficWatchQuery(endpoint.name, change));
  const names = endpoint.deployments.map((deployment) => deployment.name);
  const before = splitText(change.before.traffic, names);
  const undo = useMutation({
    mutationFn: (back: NonNullable<TrafficChange["undo"]>) => undoTraffic(endpoint.name, back, endpoint.etag),
    onSuccess: (updated) => {
      queryClient.setQueryData(keys.endpoints.one(endpoint.name), updated);
      notifyDone(sameSplit(change.before.traffic, change.after.traffic) ? t`The rules are back` : t`The traffic is back at ${before}`);
    },
    onError: (error) => {
      // why no more: what is shown then says who changed it, and what there is to take back now.
      if (wasOvertaken(error)) void queryClient.fetchQuery({ ...endpointQuery(endpoint.name), staleTime: 0 });
      notifyProblem(error, t`The traffic could not be moved back`);
    },
  });
  const { undo: back, state } = change;
  const found = data?.found ?? null;
  const { tone: worst, title, detail: told } = verdict(found);
  const detail = error ? t`How it does could not be read: ${problemText(error)}` : told;
  const undone = state === "undone";
  const tone = undone ? "ok" : worst;
  if (!isTold(change, found)) return null;
  const left = state === "watching" ? (data?.left_s ?? null) : null;
  return (
    <section className={classes["banner"]} data-tone={tone} aria-label={t`Traffic change`}>
      <ToneIcon tone={tone} label={undone ? t`Undone` : WORDS[tone]} />
      <div className={classes["words"]}>
        <p role={tone === "error" ? "alert" : "status"}>
          <b>{wordsOf(change, names, title)}</b>
        </p>
        <p className={classes["detail"]}>
          {undone && title ? t`Until then: ${title}. ${detail}` : detail}{" "}
          <span className="muted">
            <Trans>
              Changed by {change.actor}, <Time at={change.changed_at} />.
            </Trans>{" "}
            {left === null ? null : <Trans>{Math.ceil(left)} s left to watch.</Trans>}
          </span>
        </p>
      </div>
      {back ? (
        <RefusingButton
          needs="deploy"
          variant="default"
          leftSection={<IconArrowBackUp size={15} />}
          loading={undo.isPending}
          onClick={() => undo.mutate(back)}
        >
          {back.traffic ? <Trans>Undo: back to {before}</Trans> : <Trans>Undo: back to the rules of before</Trans>}
        </RefusingButton>
      ) : undone ? null : (
        <span className="muted">
          <Trans>Who answered before is gone.</Trans>
        </span>
      )}
      <CloseButton aria-label={t`Put away, for me alone`} title={t`Put away, for me alone`} onClick={onClose} />
    </section>
  );
}

export function TrafficWatchBanner({ endpoint }: { endpoint: Endpoint }) {
  const change = endpoint.traffic_change;
  const mark = change ? `${endpoint.name}@${change.undone_at ?? change.changed_at}` : "";
  const [closed, setClosed] = useState("");
  if (!change || closed === mark || isDismissed(mark)) return null;
  const close = () => {
    dismiss(mark);
    setClosed(mark);
  };
  return <Banner key={change.changed_at} endpoint={endpoint} change={change} onClose={close} />;
}

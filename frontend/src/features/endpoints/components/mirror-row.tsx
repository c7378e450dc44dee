/** Copies of requests for one deployment, whose answers are thrown away: how it does under real traffic, at no risk. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setMirror } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { mirrorRecipe } from "../recipes";
import classes from "./mirror-row.module.css";

const MOST = 50;
const FIRST = 10;

export function MirrorRow({ endpoint }: { endpoint: Endpoint }) {
  const disabled = useRefusal("deploy") !== undefined;
  const queryClient = useQueryClient();
  const [now] = Object.entries(endpoint.mirror_traffic);
  const [target, setTarget] = useState<string | null>(null);
  const [share, setShare] = useState<number | null>(null);
  // why these: what carries no traffic is what one wants to see under traffic.
  const fresh = endpoint.deployments.filter((one) => (endpoint.traffic[one.name] ?? 0) === 0).map((one) => one.name);
  const names = now && !fresh.includes(now[0]) ? [now[0], ...fresh] : fresh;
  const name = target ?? now?.[0] ?? names[0] ?? "";
  const percent = share ?? now?.[1] ?? FIRST;
  const apply = useMutation({
    mutationFn: (mirror: Record<string, number>) => setMirror(endpoint.name, mirror),
    onSuccess: (updated, mirror) => {
      queryClient.setQueryData(keys.endpoints.one(endpoint.name), updated);
      setTarget(null);
      setShare(null);
      const [entry] = Object.entries(mirror);
      notifyDone(entry ? t`${entry[0]} gets copies of ${entry[1]} % of the requests` : t`No more copies are sent`);
    },
    onError: (error) => notifyProblem(error, t`The mirror could not be changed`),
  });
  if (names.length === 0) return null;
  return (
    <div className={classes["row"]} role="group" aria-label={t`Mirror`}>
      <span className={classes["label"]}>
        <Trans>Mirror</Trans>
      </span>
      <NumberInput
        aria-label={t`Share of the requests that are copied`}
        value={percent}
        min={1}
        max={MOST}
        suffix=" %"
        w={84}
        disabled={disabled}
        onChange={(value) => setShare(Number(value) || 1)}
      />
      <span>
        <Trans>of the requests, copied to</Trans>
      </span>
      <Select
        aria-label={t`Deployment that gets copies`}
        value={name}
        data={names}
        w={140}
        allowDeselect={false}
        disabled={disabled}
        onChange={setTarget}
      />
      <RefusingButton
        needs="deploy"
        variant="default"
        loading={apply.isPending}
        disabled={now !== undefined && now[0] === name && now[1] === percent}
        onClick={() => apply.mutate({ [name]: percent })}
      >
        {now ? t`Change the mirror` : t`Start mirroring`}
      </RefusingButton>
      {now ? (
        <RefusingButton needs="deploy" variant="subtle" color="gray" onClick={() => apply.mutate({})}>
          <Trans>Stop</Trans>
        </RefusingButton>
      ) : null}
      <AsCodeButton recipe={() => mirrorRecipe(endpoint.name, name, percent)} />
      <span className="secondary">
        {now ? t`${now[0]} gets copies of ${now[1]} % now; its answers are thrown away` : t`answers of copies are thrown away`}
      </span>
    </div>
  );
}

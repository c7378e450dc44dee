/** Copies of requests for one deployment, whose answers are thrown away: how it does under real traffic, at no risk. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { setMirror } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { notifyDone } from "@/components/notify";
import { NumberField } from "@/components/number-field";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { OvertakenNote, useSaving } from "@/components/saving";
import { mirrorRecipe } from "../recipes";
import classes from "./mirror-row.module.css";

const MOST = 50;
const FIRST = 10;

/** Who gets copies, and of how many per cent; null: nobody. */
type Mirror = { name: string; percent: number } | null;

function mirrorOf({ mirror_traffic: copies }: Endpoint): Mirror {
  const [now] = Object.entries(copies);
  return now ? { name: now[0], percent: now[1] } : null;
}

const Copies = ({ mirror }: { mirror: Mirror }) =>
  mirror ? t`${mirror.name} gets copies of ${mirror.percent} % of the requests` : t`Nobody gets copies.`;

export function MirrorRow({ endpoint }: { endpoint: Endpoint }) {
  const disabled = useRefusal("deploy") !== undefined;
  const queryClient = useQueryClient();
  const shownBy = keys.endpoints.one(endpoint.name);
  const saving = useSaving({ thing: endpoint, part: mirrorOf, shownBy });
  const now = mirrorOf(endpoint);
  // why these: what carries no traffic is what one wants to see under traffic.
  const fresh = endpoint.deployments.filter((one) => (endpoint.traffic[one.name] ?? 0) === 0).map((one) => one.name);
  const names = now && !fresh.includes(now.name) ? [now.name, ...fresh] : fresh;
  const { name, percent } = saving.draft ?? { name: names[0] ?? "", percent: FIRST };
  const set = async (mirror: Mirror, { etag }: Endpoint) => {
    const copies = mirror ? { [mirror.name]: mirror.percent } : {};
    queryClient.setQueryData(shownBy, await setMirror(endpoint.name, copies, etag));
    notifyDone(mirror ? t`${mirror.name} gets copies of ${mirror.percent} % of the requests` : t`No more copies are sent`);
  };
  const told = saving.overtaken !== null;
  if (names.length === 0) return null;
  return (
    <div className={classes["row"]} role="group" aria-label={t`Mirror`}>
      <span className={classes["label"]}>
        <Trans>Mirror</Trans>
      </span>
      <NumberField
        aria-label={t`Share of the requests that are copied`}
        value={percent}
        min={1}
        max={MOST}
        suffix=" %"
        w={84}
        disabled={disabled}
        onChange={(value) => saving.edit({ name, percent: value })}
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
        onChange={(target) => saving.edit({ name: target ?? name, percent })}
      />
      <RefusingButton
        needs="deploy"
        variant="default"
        loading={saving.pending}
        disabled={told || (now !== null && now.name === name && now.percent === percent)}
        onClick={() => saving.send((draft, seen) => set(draft ?? { name, percent }, seen))}
      >
        {now ? t`Change the mirror` : t`Start mirroring`}
      </RefusingButton>
      {now ? (
        <RefusingButton
          needs="deploy"
          variant="subtle"
          color="gray"
          disabled={told}
          onClick={() => saving.send((_, seen) => set(null, seen))}
        >
          <Trans>Stop</Trans>
        </RefusingButton>
      ) : null}
      <AsCodeButton recipe={() => mirrorRecipe(endpoint.name, name, percent)} />
      <span className="secondary">
        {now ? t`${now.name} gets copies of ${now.percent} % now; its answers are thrown away` : t`answers of copies are thrown away`}
      </span>
      <OvertakenNote saving={saving} now={(current) => <Copies mirror={mirrorOf(current)} />} />
      {saving.error ? <ProblemCard error={saving.error} title={t`The mirror could not be changed`} /> : null}
    </div>
  );
}

/** Begins a rollout: what share the candidate gets when, and what must be answered before it gets more. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Checkbox, NumberInput, Select, Stack, Switch, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { startRollout } from "@/api/rollouts";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { OvertakenNote, useSaving } from "@/components/saving";
import { TrafficBar } from "@/components/traffic-bar";
import type { DeploymentDialogProps } from "../components/deployment-dialogs";
import { rolloutRecipe } from "../recipes";
import { sameSplit, type Split } from "../traffic";
import { readSteps, sharesText } from "./rollout";
import { BY_STEPS, RulesNote, StrategyFields, strategyBody, switchSteps } from "./strategy-fields";

const STEPS = [1, 10, 50, 100];
const HOLD_MINUTES = 5;
const MIN_REQUESTS = 200;
const WAYS = [
  { value: "values", label: t`all values, within a tolerance` },
  { value: "best_class", label: t`the best class of scores` },
];
type Way = "values" | "best_class";
type Source = "cases" | "random" | "captured";
const SOURCES: { value: Source; label: string }[] = [
  { value: "cases", label: t`saved cases` },
  { value: "random", label: t`random inputs` },
  { value: "captured", label: t`captured requests of clients` },
];

export function StartRolloutDialog({ endpoint, deployment, opened, onClose }: DeploymentDialogProps) {
  const client = useQueryClient();
  const share = endpoint.traffic[deployment.name] ?? 0;
  const starting = useSaving({
    thing: endpoint,
    part: (shown) => shown.traffic,
    same: sameSplit,
    shownBy: keys.endpoints.one(endpoint.name),
  });
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? STEPS.filter((step) => step > share).join(", ");
  const [minutes, setMinutes] = useState<number | string>(HOLD_MINUTES);
  const [requests, setRequests] = useState<number | string>(MIN_REQUESTS);
  const [golden, setGolden] = useState(true);
  const [inputs, setInputs] = useState<number | string>(0);
  const [way, setWay] = useState<Way>("values");
  const [sources, setSources] = useState<Source[]>(SOURCES.map((one) => one.value));
  const [strategy, setStrategy] = useState(BY_STEPS);
  const hold = Math.round(Number(minutes) * 60);
  const read = strategy.blueGreen ? { ok: true as const, steps: switchSteps(hold) } : readSteps(text, hold);
  const numbers = typeof minutes === "number" && typeof requests === "number" && requests >= 1;
  const guardrails = golden ? {} : { guardrails: { golden: null } };
  const compare = typeof inputs === "number" && inputs > 0 ? { compare: { per_minute: inputs, by: way, sources } } : {};
  const asked = !("compare" in compare) || sources.length > 0;
  const body =
    read.ok && numbers && asked
      ? {
          deployment: deployment.name,
          steps: read.steps,
          min_requests: requests,
          ...strategyBody(strategy, hold),
          ...guardrails,
          ...compare,
        }
      : null;
  const start = async (_: Split, { etag }: Endpoint) => {
    if (body === null) return;
    const begun = await startRollout(endpoint.name, body, etag);
    client.setQueryData(keys.endpoints.rollout(endpoint.name), begun);
    await client.invalidateQueries({ queryKey: keys.endpoints.one(endpoint.name) });
    notifyDone(t`${deployment.name} is being rolled out`);
    onClose();
  };
  return (
    <ConfirmModal
      opened={opened}
      onClose={() => {
        starting.discard();
        onClose();
      }}
      title={t`Roll out ${deployment.name}`}
      confirmLabel={
        read.ok && !strategy.blueGreen && !strategy.copies ? t`Give ${deployment.name} ${read.steps[0]?.percent ?? 0} %` : t`Begin`
      }
      blocked={body === null || starting.overtaken !== null}
      onConfirm={() => starting.sendNow(start)}
    >
      <p>
        <Trans>
          {deployment.name} gets more of the traffic step by step, as long as it does no worse than what answers beside it: errors, refused
          requests, latencies, restarts. Where it does, the traffic goes back to {sharesText(endpoint.traffic)} by itself.
        </Trans>
      </p>
      <RulesNote rules={endpoint.traffic_rules.length} />
      {share === 0 ? <StrategyFields value={strategy} onChange={setStrategy} /> : null}
      {strategy.blueGreen ? null : (
        <TextInput
          label={t`Steps, % of the traffic`}
          description={t`Rising, the last is 100`}
          value={text}
          error={read.ok ? undefined : read.error}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
        />
      )}
      <NumberInput label={t`Minutes that each step holds, at least`} min={0} max={10_080} value={minutes} onChange={setMinutes} />
      <NumberInput
        label={t`Requests in each step, of both versions, at least`}
        description={t`On fewer nothing is decided`}
        min={1}
        max={10_000_000}
        allowDecimal={false}
        value={requests}
        onChange={setRequests}
      />
      <Switch
        label={t`Ask its golden cases first, and in each step`}
        description={t`A wrong answer keeps the traffic from it; without golden cases nothing is asked`}
        checked={golden}
        onChange={(event) => setGolden(event.currentTarget.checked)}
      />
      <NumberInput
        label={t`Inputs a minute that both versions are asked`}
        description={t`Saved cases, random ones, and what clients asked where the stable version captures that; another answer than the stable version's counts against it. 0: none`}
        min={0}
        max={600}
        allowDecimal={false}
        value={inputs}
        onChange={setInputs}
      />
      {"compare" in compare ? (
        <>
          <Checkbox.Group
            label={t`Inputs from`}
            description={t`They take turns`}
            value={sources}
            error={sources.length === 0 ? t`one of them at least` : undefined}
            onChange={(next) => setSources(SOURCES.map((one) => one.value).filter((one) => next.includes(one)))}
          >
            <Stack gap="xs" mt="xs">
              {SOURCES.map((one) => (
                <Checkbox key={one.value} value={one.value} label={one.label} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label={t`Compared by`}
            allowDeselect={false}
            value={way}
            data={WAYS}
            onChange={(next) => setWay(next === "best_class" ? next : "values")}
          />
        </>
      ) : null}
      <OvertakenNote
        saving={starting}
        now={({ traffic }) => <TrafficBar traffic={traffic} />}
        takeLabel={t`Leave it so`}
        overLabel={t`Roll out all the same`}
        onTake={onClose}
        again={start}
      />
      {body ? <AsCodeButton wide recipe={() => rolloutRecipe(endpoint.name, body)} /> : null}
    </ConfirmModal>
  );
}

/** How a rollout goes: by steps or at once, with copies of requests before that, and what is looked at. */
import { t } from "@lingui/core/macro";
import { Checkbox, NumberInput, Select, Stack, Switch, TextInput } from "@mantine/core";
import { ALL_SOURCES, comparesInputs, type PlanForm, readSteps, type Source, stepsText, type Way } from "./plan";

const STRATEGIES = [
  { value: "steps", label: t`by steps` },
  { value: "blue_green", label: t`at once, watched, and back where it does worse` },
];
const WAYS: { value: Way; label: string }[] = [
  { value: "values", label: t`all values, within a tolerance` },
  { value: "best_class", label: t`the best class of scores` },
];
const SOURCES: Record<Source, string> = {
  cases: t`saved cases`,
  random: t`random inputs`,
  captured: t`captured requests of clients`,
};

export interface PlanFieldsProps {
  plan: PlanForm;
  onPlan: (part: Partial<PlanForm>) => void;
  /** Percent of the traffic that the candidate has already. */
  share: number;
  focused?: boolean;
}

/** What a field says that was left empty, and keeps the rollout from beginning. */
const needed = (value: number | string) => (typeof value === "number" ? undefined : t`a number`);

export function PlanFields({ plan, onPlan, share, focused = false }: PlanFieldsProps) {
  const read = readSteps(stepsText(plan, share), 0);
  return (
    <>
      {share === 0 ? <StrategyFields plan={plan} onPlan={onPlan} /> : null}
      {plan.blueGreen ? null : (
        <TextInput
          label={t`Steps, % of the traffic`}
          description={t`Rising, the last is 100`}
          value={stepsText(plan, share)}
          error={read.ok ? undefined : read.error}
          onChange={(event) => onPlan({ steps: event.currentTarget.value })}
          data-autofocus={focused || undefined}
        />
      )}
      <NumberInput
        label={t`Minutes that each step holds, at least`}
        min={0}
        max={10_080}
        value={plan.minutes}
        error={needed(plan.minutes)}
        onChange={(minutes) => onPlan({ minutes })}
      />
      <NumberInput
        label={t`Requests in each step, of both versions, at least`}
        description={t`On fewer nothing is decided`}
        min={1}
        max={10_000_000}
        allowDecimal={false}
        value={plan.requests}
        error={needed(plan.requests)}
        onChange={(requests) => onPlan({ requests })}
      />
      <Switch
        label={t`Ask its golden cases first, and in each step`}
        description={t`A wrong answer keeps the traffic from it; without golden cases nothing is asked`}
        checked={plan.golden}
        onChange={(event) => onPlan({ golden: event.currentTarget.checked })}
      />
      <NumberInput
        label={t`Inputs a minute that both versions are asked`}
        description={t`Saved cases, random ones, and what clients asked where the stable version captures that; another answer than the stable version's counts against it. 0: none`}
        min={0}
        max={600}
        allowDecimal={false}
        value={plan.inputs}
        onChange={(inputs) => onPlan({ inputs })}
      />
      {comparesInputs(plan) ? <CompareFields plan={plan} onPlan={onPlan} /> : null}
    </>
  );
}

type PartProps = Pick<PlanFieldsProps, "plan" | "onPlan">;

function StrategyFields({ plan, onPlan }: PartProps) {
  return (
    <>
      <Select
        label={t`Strategy`}
        allowDeselect={false}
        value={plan.blueGreen ? "blue_green" : "steps"}
        data={STRATEGIES}
        onChange={(next) => onPlan({ blueGreen: next === "blue_green" })}
      />
      <NumberInput
        label={t`Copies of requests before that, %`}
        description={t`Its answers to them are thrown away; replicas count whether it fails, and how long it takes. 0: none`}
        min={0}
        max={50}
        allowDecimal={false}
        value={plan.copies}
        onChange={(copies) => onPlan({ copies })}
      />
    </>
  );
}

function CompareFields({ plan, onPlan }: PartProps) {
  return (
    <>
      <Checkbox.Group
        label={t`Inputs from`}
        description={t`They take turns`}
        value={plan.sources}
        error={plan.sources.length === 0 ? t`one of them at least` : undefined}
        onChange={(next) => onPlan({ sources: ALL_SOURCES.filter((one) => next.includes(one)) })}
      >
        <Stack gap="xs" mt="xs">
          {ALL_SOURCES.map((one) => (
            <Checkbox key={one} value={one} label={SOURCES[one]} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Select
        label={t`Compared by`}
        allowDeselect={false}
        value={plan.way}
        data={WAYS}
        onChange={(next) => onPlan({ way: next === "best_class" ? next : "values" })}
      />
    </>
  );
}

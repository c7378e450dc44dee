/** How a rollout gets to all of the traffic: by steps or at once, and with copies of requests before that. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select } from "@mantine/core";

export interface Strategy {
  blueGreen: boolean;
  /** Percent of the requests; 0: none. */
  copies: number | string;
}

export const BY_STEPS: Strategy = { blueGreen: false, copies: 0 };

/** Without copies a switch is looked at for so long first. */
const CHECK_S = 60;

const STRATEGIES = [
  { value: "steps", label: t`by steps` },
  { value: "blue_green", label: t`at once, watched, and back where it does worse` },
];

/** What a request says of it; nothing where it is the default. */
export function strategyBody({ blueGreen, copies }: Strategy, hold_s: number) {
  return {
    ...(blueGreen ? { strategy: "blue_green" as const } : {}),
    ...(typeof copies === "number" && copies > 0 ? { shadow: { percent: copies, hold_s } } : {}),
  };
}

export const switchSteps = (hold_s: number) => [
  { percent: 0, hold_s: CHECK_S },
  { percent: 100, hold_s },
];

export function StrategyFields({ value, onChange }: { value: Strategy; onChange: (next: Strategy) => void }) {
  return (
    <>
      <Select
        label={t`Strategy`}
        allowDeselect={false}
        value={value.blueGreen ? "blue_green" : "steps"}
        data={STRATEGIES}
        onChange={(next) => onChange({ ...value, blueGreen: next === "blue_green" })}
      />
      <NumberInput
        label={t`Copies of requests before that, %`}
        description={t`Its answers to them are thrown away; replicas count whether it fails, and how long it takes. 0: none`}
        min={0}
        max={50}
        allowDecimal={false}
        value={value.copies}
        onChange={(copies) => onChange({ ...value, copies })}
      />
    </>
  );
}

/** Gateways count what a rule sends like all else: the comparison takes it for drawn by lot. */
export function RulesNote({ rules }: { rules: number }) {
  if (rules === 0) return null;
  return (
    <p className="secondary">
      <Trans>
        Requests that a rule by header sends count for the deployment that answers them, though no lot was drawn: where testers come by a
        rule, what they send can be what differs.
      </Trans>
    </p>
  );
}

/** Filters of a log: who, and when. Both live in the address, by the caller. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select, TextInput } from "@mantine/core";
import { useRef, useState } from "react";
import classes from "./when-filter.module.css";
import { WHEN_PRESETS, WHEN_WORDS, whenDays, whenPreset } from "./when";

const DAYS = "days";

interface WhenFilterProps {
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

export function WhenFilter({ value, onChange }: WhenFilterProps) {
  const days = whenDays(value);
  // The fields open before there is a day in them.
  const [asked, setAsked] = useState(false);
  const shown = days !== null || asked;
  const set = (from: string, to: string) => onChange(from === "" && to === "" ? undefined : `${from}..${to}`);
  return (
    <>
      <Select
        aria-label={t`When`}
        placeholder={t`Any time`}
        w={150}
        clearable
        data={[...WHEN_PRESETS.map((preset) => ({ value: preset, label: WHEN_WORDS[preset] })), { value: DAYS, label: t`Between days` }]}
        value={shown ? DAYS : whenPreset(value)}
        onChange={(next) => {
          setAsked(next === DAYS);
          onChange(next === DAYS ? undefined : (next ?? undefined));
        }}
      />
      {shown ? (
        <span className={classes["days"]} role="group" aria-label={t`Between days`}>
          <TextInput
            type="date"
            aria-label={t`From day`}
            value={days?.from ?? ""}
            {...(days?.to ? { max: days.to } : {})}
            onChange={(event) => set(event.currentTarget.value, days?.to ?? "")}
          />
          <span className="muted">
            <Trans>to</Trans>
          </span>
          <TextInput
            type="date"
            aria-label={t`To day`}
            value={days?.to ?? ""}
            {...(days?.from ? { min: days.from } : {})}
            onChange={(event) => set(days?.from ?? "", event.currentTarget.value)}
          />
        </span>
      ) : null}
    </>
  );
}

interface WhoFilterProps {
  value: string | undefined;
  /** Those of the rows in view; who was seen once stays on offer. */
  names: readonly string[];
  onChange: (value: string | undefined) => void;
}

export function WhoFilter({ value, names, onChange }: WhoFilterProps) {
  const seen = useRef(new Set<string>());
  for (const name of [...names, value ?? ""]) if (name !== "") seen.current.add(name);
  return (
    <Select
      aria-label={t`Who`}
      placeholder={t`Anybody`}
      w={140}
      clearable
      searchable
      nothingFoundMessage={t`Nobody of that name here`}
      data={[...seen.current].sort()}
      value={value ?? null}
      onChange={(next) => onChange(next ?? undefined)}
    />
  );
}

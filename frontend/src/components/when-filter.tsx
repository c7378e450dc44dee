/** Filters of a log: who, and when. Both live in the address, by the caller. */
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
        aria-label="When"
        placeholder="Any time"
        w={150}
        clearable
        data={[...WHEN_PRESETS.map((preset) => ({ value: preset, label: WHEN_WORDS[preset] })), { value: DAYS, label: "Between days" }]}
        value={shown ? DAYS : whenPreset(value)}
        onChange={(next) => {
          setAsked(next === DAYS);
          onChange(next === DAYS ? undefined : (next ?? undefined));
        }}
      />
      {shown ? (
        <span className={classes["days"]} role="group" aria-label="Between days">
          <TextInput
            type="date"
            aria-label="From day"
            value={days?.from ?? ""}
            {...(days?.to ? { max: days.to } : {})}
            onChange={(event) => set(event.currentTarget.value, days?.to ?? "")}
          />
          <span className="muted">to</span>
          <TextInput
            type="date"
            aria-label="To day"
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
      aria-label="Who"
      placeholder="Anybody"
      w={140}
      clearable
      searchable
      nothingFoundMessage="Nobody of that name here"
      data={[...seen.current].sort()}
      value={value ?? null}
      onChange={(next) => onChange(next ?? undefined)}
    />
  );
}

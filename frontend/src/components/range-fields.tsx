/** Two fields for a stretch of time, which a drag over a chart fills, too. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, TextInput } from "@mantine/core";
import { useRef, useState } from "react";
import type { TimeRange } from "@/app/time-range";
import { absoluteTime } from "./format";
import classes from "./range-fields.module.css";
import { typedRange } from "./typed-range";
import { zoneNow } from "./zone";

interface RangeFieldsProps {
  /** Null for all of the time. */
  range: TimeRange | null;
  /** `FROM..TO` in Unix seconds, as it stands in the address. */
  onChange: (range: string) => void;
}

const text = (seconds: number) => absoluteTime(new Date(seconds * 1000).toISOString());

interface Texts {
  from: string;
  to: string;
}

const textsOf = (range: TimeRange | null): Texts =>
  range?.kind === "fixed" ? { from: text(range.from), to: text(range.to) } : { from: "", to: "" };

export function RangeFields({ range, onChange }: RangeFieldsProps) {
  const shown = textsOf(range);
  const [typed, setTyped] = useState(shown);
  const [before, setBefore] = useState(shown);
  const [wrong, setWrong] = useState<{ field: keyof Texts; message: string } | null>(null);
  const form = useRef<HTMLFormElement>(null);
  // why here, and no fields anew: what is dragged over a chart replaces what was typed, and whoever typed keeps the focus.
  if (before.from !== shown.from || before.to !== shown.to) {
    setBefore(shown);
    setTyped(shown);
    setWrong(null);
  }
  const zone = zoneNow();
  const show = () => {
    const found = typedRange(typed.from, typed.to, Date.now());
    if ("range" in found) onChange(found.range);
    else {
      setWrong(found);
      // why: who presses the button by keyboard, or cannot see, is told there.
      form.current?.querySelector<HTMLInputElement>(`[name="${found.field}"]`)?.focus();
    }
  };
  const field = (name: keyof Texts, label: string, placeholder: string) => (
    <TextInput
      name={name}
      aria-label={label}
      title={label}
      w={168}
      value={typed[name]}
      placeholder={placeholder}
      error={wrong?.field === name ? wrong.message : undefined}
      onChange={(event) => {
        setTyped({ ...typed, [name]: event.currentTarget.value });
        setWrong(null);
      }}
    />
  );
  return (
    <form
      ref={form}
      className={classes["fields"]}
      aria-label={t`Times`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        show();
      }}
    >
      {field("from", t`From, in ${zone}`, t`from, e.g. 14:00`)}
      {field("to", t`To, in ${zone}`, t`to, or now`)}
      <Button type="submit" variant="default" disabled={typed.from.trim() === ""}>
        <Trans>Show</Trans>
      </Button>
    </form>
  );
}

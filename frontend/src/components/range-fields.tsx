/** Two fields for a stretch of time, which a drag over a chart fills, too. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { TimeRange } from "@/app/time-range";
import { absoluteTime } from "./format";
import classes from "./range-fields.module.css";
import { typedRange } from "./typed-range";
import { zoneNow } from "./zone";

interface RangeFieldsProps {
  range: TimeRange;
  /** `FROM..TO` in Unix seconds, as it stands in the address. */
  onChange: (range: string) => void;
}

const text = (seconds: number) => absoluteTime(new Date(seconds * 1000).toISOString());

function Fields({ from: first, to: last, onChange }: { from: string; to: string; onChange: RangeFieldsProps["onChange"] }) {
  const [from, setFrom] = useState(first);
  const [to, setTo] = useState(last);
  const [wrong, setWrong] = useState<{ field: "from" | "to"; message: string } | null>(null);
  const zone = zoneNow();
  const show = () => {
    const typed = typedRange(from, to, Date.now());
    if ("range" in typed) onChange(typed.range);
    else setWrong(typed);
  };
  const field = (name: "from" | "to", label: string, value: string, set: (value: string) => void, placeholder: string) => (
    <TextInput
      aria-label={label}
      title={label}
      w={168}
      value={value}
      placeholder={placeholder}
      error={wrong?.field === name ? wrong.message : undefined}
      onChange={(event) => {
        set(event.currentTarget.value);
        setWrong(null);
      }}
    />
  );
  return (
    <form
      className={classes["fields"]}
      aria-label={t`Times`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        show();
      }}
    >
      {field("from", t`From, in ${zone}`, from, setFrom, t`from, e.g. 14:00`)}
      {field("to", t`To, in ${zone}`, to, setTo, t`to, or now`)}
      <Button type="submit" variant="default" disabled={from.trim() === ""}>
        <Trans>Show</Trans>
      </Button>
    </form>
  );
}

export function RangeFields({ range, onChange }: RangeFieldsProps) {
  const [from, to] = range.kind === "fixed" ? [text(range.from), text(range.to)] : ["", ""];
  // why anew: what is dragged over a chart is in the fields, and what was typed before is not any more.
  return <Fields key={`${from} ${to}`} from={from} to={to} onChange={onChange} />;
}

/** Whole numbers separated by commas. What is typed stays as typed until the field is left. */
import { t } from "@lingui/core/macro";
import { TextInput } from "@mantine/core";
import { useState } from "react";

export interface ListInputProps {
  /** The accessible name. */
  label: string;
  /** Shown above the field. */
  caption?: string | undefined;
  value: readonly number[];
  placeholder: string;
  /** The smallest number that is taken. */
  least?: number;
  onChange: (value: number[]) => void;
  error?: string | undefined;
}

function parse(text: string, least: number): number[] | null {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const numbers = words.map(Number);
  return numbers.every((number) => Number.isInteger(number) && number >= least) ? numbers : null;
}

export function ListInput({ label, caption, value, placeholder, least = 0, onChange, error }: ListInputProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = typed ?? value.join(", ");
  const unreadable = parse(shown, least) === null;
  return (
    <TextInput
      label={caption}
      aria-label={label}
      value={shown}
      placeholder={placeholder}
      classNames={{ input: "mono" }}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        const numbers = parse(text, least);
        if (numbers !== null) onChange(numbers);
      }}
      onBlur={() => setTyped(null)}
      error={unreadable ? t`Use whole numbers, separated by commas.` : error}
    />
  );
}

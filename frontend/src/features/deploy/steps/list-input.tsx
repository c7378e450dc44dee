/** Whole numbers separated by commas. What is typed stays as typed until the field is left. */
import { TextInput } from "@mantine/core";
import { useState } from "react";

export interface ListInputProps {
  label: string;
  value: readonly number[];
  placeholder: string;
  onChange: (value: number[]) => void;
  error?: string | undefined;
}

function parse(text: string): number[] | null {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const numbers = words.map(Number);
  return numbers.every((number) => Number.isInteger(number) && number >= 0) ? numbers : null;
}

export function ListInput({ label, value, placeholder, onChange, error }: ListInputProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = typed ?? value.join(", ");
  const unreadable = parse(shown) === null;
  return (
    <TextInput
      aria-label={label}
      value={shown}
      placeholder={placeholder}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        const numbers = parse(text);
        if (numbers !== null) onChange(numbers);
      }}
      onBlur={() => setTyped(null)}
      error={unreadable ? "Use whole numbers, separated by commas." : error}
    />
  );
}

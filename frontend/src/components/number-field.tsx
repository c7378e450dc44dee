/** A number that is always there: the field may stand empty while one types another, and what it was counts until then. */
import { NumberInput, type NumberInputProps } from "@mantine/core";
import { useState } from "react";

interface NumberFieldProps extends Omit<NumberInputProps, "value" | "onChange"> {
  value: number;
  /** Told of numbers alone; a field that is left empty shows again what counts. */
  onChange: (value: number) => void;
}

export function NumberField({ value, onChange, onBlur, ...props }: NumberFieldProps) {
  // why: a number put into the field as soon as it is empty would become the first or the last digit of what is typed next.
  const [empty, setEmpty] = useState(false);
  return (
    <NumberInput
      {...props}
      value={empty ? "" : value}
      onChange={(typed) => {
        setEmpty(typed === "");
        if (typeof typed === "number") onChange(typed);
      }}
      onBlur={(event) => {
        setEmpty(false);
        onBlur?.(event);
      }}
    />
  );
}

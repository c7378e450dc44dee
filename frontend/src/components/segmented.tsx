/** A few choices in a row, kept in the URL by the caller. */
import { SegmentedControl } from "@mantine/core";

export interface SegmentedProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}

export function Segmented<T extends string>({ label, value, options, onChange }: SegmentedProps<T>) {
  return (
    <SegmentedControl
      aria-label={label}
      // why: on a phone a long row scrolls by itself, not the page.
      style={{ maxWidth: "100%", overflowX: "auto" }}
      value={value}
      data={options.map((option) => ({ value: option.value, label: option.label }))}
      onChange={(next) => onChange(next as T)}
    />
  );
}

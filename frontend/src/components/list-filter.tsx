/** The text filter above a list; `/` focuses it, and the text lives in the URL. */
import { t } from "@lingui/core/macro";
import { CloseButton, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";

export interface ListFilterProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

export function ListFilter({ label, value, onChange }: ListFilterProps) {
  return (
    <TextInput
      data-list-filter
      aria-label={label}
      placeholder={`${label} ( / )`}
      w={260}
      value={value}
      leftSection={<IconSearch size={15} />}
      rightSection={value ? <CloseButton size={22} aria-label={t`Clear the filter`} onClick={() => onChange("")} /> : null}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

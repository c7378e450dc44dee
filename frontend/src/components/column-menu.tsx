/** The column chooser at the end of a table's heading. */
import { t } from "@lingui/core/macro";
import { ActionIcon, Checkbox, Popover } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "@/api/session";
import { readHidden, toggled, writeHidden } from "./column-choice";

interface Choice {
  hidden: readonly string[];
  toggle: (id: string) => void;
}

/** `table` undefined: nothing can be hidden. `known` are the columns that may be. */
export function useColumnChoice(table: string | undefined, known: readonly string[]): Choice {
  const user = useQuery(sessionQuery()).data?.user?.username ?? "";
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  if (table === undefined) return { hidden: [], toggle: () => undefined };
  const hidden = chosen ?? readHidden(user, table, known);
  return {
    hidden,
    toggle: (id) => {
      const next = toggled(hidden, id);
      writeHidden(user, table, next);
      setChosen(next);
    },
  };
}

interface ColumnMenuProps extends Choice {
  columns: readonly { id: string; header: React.ReactNode }[];
}

export function ColumnMenu({ columns, hidden, toggle }: ColumnMenuProps) {
  return (
    <Popover position="bottom-end" shadow="none" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon size={24} aria-label={t`Columns`} title={t`Choose the columns`}>
          <IconColumns3 size={15} stroke={1.7} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <div role="group" aria-label={t`Columns`} style={{ display: "grid", gap: 8 }}>
          {columns.map(({ id, header }) => (
            <Checkbox key={id} label={header} checked={!hidden.includes(id)} onChange={() => toggle(id)} />
          ))}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}

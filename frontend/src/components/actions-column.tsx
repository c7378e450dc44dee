/** The last column of a table: what may be done with a row. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Menu } from "@mantine/core";
import { IconDotsVertical } from "@tabler/icons-react";
import type { Column } from "./data-table";

export const actionsColumn = <Row,>(cell: (row: Row) => React.ReactNode, width = 44): Column<Row> => ({
  id: "more",
  header: (
    <span className="sr-only">
      <Trans>Actions</Trans>
    </span>
  ),
  align: "right",
  width,
  cell,
});

interface RowMenuProps {
  /** What the row is, as it is read out. */
  of: string;
  /** Why nothing may be done. */
  refusal?: string | undefined;
  children: React.ReactNode;
}

export function RowMenu({ of, refusal, children }: RowMenuProps) {
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t`Actions for ${of}`} disabled={refusal !== undefined} title={refusal}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}

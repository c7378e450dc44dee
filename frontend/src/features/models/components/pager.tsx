/** Pages of rows that are all here already. */
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useState } from "react";
import { count } from "@/components/format";
import classes from "../models.module.css";

const PAGE_ROWS = 50;

export interface Paged<Row> {
  rows: Row[] | undefined;
  pager: React.ReactNode;
}

/** The rows of the page in view, and the buttons below them; no buttons where one page holds all. */
export function usePaged<Row>(all: readonly Row[] | undefined, label: string, size = PAGE_ROWS): Paged<Row> {
  const [wanted, setWanted] = useState(0);
  const total = all?.length ?? 0;
  const last = Math.max(0, Math.ceil(total / size) - 1);
  const page = Math.min(wanted, last);
  const rows = all?.slice(page * size, (page + 1) * size);
  if (last === 0) return { rows, pager: null };
  return {
    rows,
    pager: (
      <nav className={classes["pager"]} aria-label={label}>
        <span className="secondary">
          <Trans>
            {count(page * size + 1)} to {count(Math.min(total, (page + 1) * size))} of {count(total)}
          </Trans>
        </span>
        <Button variant="default" disabled={page === 0} onClick={() => setWanted(page - 1)}>
          <Trans>Previous</Trans>
        </Button>
        <Button variant="default" disabled={page === last} onClick={() => setWanted(page + 1)}>
          <Trans>Next</Trans>
        </Button>
      </nav>
    ),
  };
}

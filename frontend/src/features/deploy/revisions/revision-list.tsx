/** Edits of the configuration, newest first; each can be shown, and edited further. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Link } from "@tanstack/react-router";
import type { ModelVersion } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";

interface Row {
  number: number;
  words: string;
  author: string;
  at: string;
  models: string[];
}

export function RevisionList({ version, shown }: { version: ModelVersion; shown: number }) {
  const rows: Row[] = [
    ...version.config_revisions
      .map((one) => ({
        number: one.number,
        words: one.message,
        author: one.author,
        at: one.created_at,
        models: Object.keys(one.configs),
      }))
      .sort((a, b) => b.number - a.number),
    { number: 0, words: t`the files as uploaded`, author: version.created_by, at: version.created_at, models: [] },
  ];
  const columns: Column<Row>[] = [
    {
      id: "number",
      header: t`Revision`,
      width: 120,
      cell: (row) =>
        row.number === shown ? (
          <>
            {row.number === 0 ? t`files` : row.number}{" "}
            <Chip tone="info">
              <Trans>shown</Trans>
            </Chip>
          </>
        ) : (
          <Link to="." search={(old: Record<string, unknown>) => ({ ...old, revision: row.number })} className="link">
            {row.number === 0 ? t`files` : row.number}
          </Link>
        ),
    },
    { id: "words", header: t`What changed`, cell: (row) => row.words || <span className="muted">–</span> },
    { id: "models", header: t`Models`, hideBelow: "lg", cell: (row) => row.models.join(", ") || "–" },
    { id: "author", header: t`By`, hideBelow: "sm", cell: (row) => row.author },
    { id: "at", header: t`When`, cell: (row) => <Time at={row.at} /> },
  ];
  return (
    <Card title={t`Revisions`} hint={t`the version itself never changes`} flush>
      <DataTable compact label={t`Revisions`} columns={columns} rows={rows} rowKey={(row) => String(row.number)} />
    </Card>
  );
}

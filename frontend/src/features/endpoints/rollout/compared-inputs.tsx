/** Inputs that both versions were asked: how many of which kind, what is missing, and those that were answered otherwise. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { capturedFilePath } from "@/api/capture";
import { rolloutDifferencesQuery } from "@/api/rollouts";
import type { Rollout, RolloutDifference } from "@/api/types";
import { type Column, DataTable } from "@/components/data-table";
import { count } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { Time } from "@/components/time";
import classes from "./rollout-card.module.css";

const KINDS: Record<RolloutDifference["source"], string> = {
  cases: t`saved case`,
  random: t`random input`,
  captured: t`request of a client`,
};
const MANY: Record<RolloutDifference["source"], (count: number) => string> = {
  cases: (count) => plural(count, { one: "# saved case", other: "# saved cases" }),
  random: (count) => plural(count, { one: "# random input", other: "# random inputs" }),
  captured: (count) => plural(count, { one: "# request of a client", other: "# requests of clients" }),
};

const columnsOf = (endpoint: string): Column<RolloutDifference>[] => [
  { id: "at", header: t`Asked`, cell: (row) => <Time at={row.at} /> },
  { id: "source", header: t`Input`, cell: (row) => KINDS[row.source] },
  { id: "model", header: t`Model`, cell: (row) => row.model, hideBelow: "md" },
  { id: "text", header: t`The answers`, cell: (row) => row.text },
  {
    id: "file",
    header: t`Where it is`,
    cell: (row) => {
      if (!row.file) return null;
      if (!row.kept) return t`its file is gone`;
      return (
        <a className="link" href={capturedFilePath(endpoint, row.deployment, row.file)} download>
          <Trans>
            {row.file.slice(0, 8)}, line {count(row.line)}
          </Trans>
        </a>
      );
    },
  },
];

export function ComparedInputs({ rollout }: { rollout: Rollout }) {
  const [shown, setShown] = useState(false);
  const { data, error, isPending, refetch } = useQuery({ ...rolloutDifferencesQuery(rollout), enabled: shown });
  const found = rollout.compared;
  if (!found) return null;
  const told = found.sources.map((one) => t`${MANY[one.source](one.inputs)}, ${count(one.differing)} answered otherwise`);
  return (
    <section aria-label={t`Inputs that both versions were asked`}>
      <div className={classes["body"]}>
        <p className="secondary">{[told.join("; "), found.captured].filter(Boolean).join(". ")}</p>
        {found.differences > 0 && !shown ? (
          <div className={classes["actions"]}>
            <RefusingButton needs="deploy" variant="default" onClick={() => setShown(true)}>
              <Trans>Show {plural(found.differences, { one: "# difference", other: "# differences" })}</Trans>
            </RefusingButton>
          </div>
        ) : null}
      </div>
      {shown && error ? <ProblemCard error={error} title={t`The differences could not be loaded`} onRetry={() => void refetch()} /> : null}
      {shown && !error ? (
        <DataTable
          label={t`Inputs answered otherwise`}
          columns={columnsOf(rollout.endpoint)}
          rows={data}
          loading={isPending}
          rowKey={(row) => `${row.at} ${row.file} ${row.line} ${row.text}`}
          compact
        />
      ) : null}
    </section>
  );
}

/** Alerts, each with the page of what it is about, its runbook, and what may be done about it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Menu } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { acknowledgeAlert } from "@/api/alerts";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Alert } from "@/api/types";
import { paths } from "@/app/paths";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { type Column, DataTable } from "@/components/data-table";
import { notifyDone, notifyProblem } from "@/components/notify";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { serverText } from "@/i18n/server-text";
import classes from "../alerts.module.css";
import { stateOf, subjectOf } from "../words";
import { SilenceDialog } from "./silence-dialog";

function Subject({ alert }: { alert: Alert }) {
  const { link, text } = subjectOf(alert);
  return (
    <Link {...link} className="link">
      {text}
    </Link>
  );
}

function What({ alert, chosen }: { alert: Alert; chosen: boolean }) {
  const untold = serverText(alert.untold);
  return (
    <div className={classes["what"]} aria-current={chosen ? "true" : undefined}>
      <span>
        <b>{serverText(alert.title)}</b>{" "}
        <Link {...paths.alerts({ tab: "rules", rule: alert.rule })} className="link">
          <Trans>What to do</Trans>
        </Link>
      </span>
      <span className={classes["narrow"]}>
        <Subject alert={alert} />
      </span>
      <span className="secondary">{serverText(alert.resolution) || alert.summary}</span>
      {untold ? (
        <span className="muted">
          <Trans>Not known now: {untold}</Trans>
        </span>
      ) : null}
    </div>
  );
}

function Actions({ alert, onSilence }: { alert: Alert; onSilence: () => void }) {
  const client = useQueryClient();
  const refusal = useRefusal(alert.project === null ? "operate" : "deploy");
  const acknowledge = useMutation({
    mutationFn: () => acknowledgeAlert(alert),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.alerts.all });
      notifyDone(t`You look after it`);
    },
    onError: (problem) => notifyProblem(problem, t`It was not acknowledged`),
  });
  return (
    <RowMenu of={`${serverText(alert.title)}, ${subjectOf(alert).text}`} refusal={refusal}>
      <Menu.Item disabled={alert.acknowledged_by !== "" || acknowledge.isPending} onClick={() => acknowledge.mutate()}>
        <Trans>Acknowledge</Trans>
      </Menu.Item>
      <Menu.Item disabled={alert.silence !== ""} onClick={onSilence}>
        <Trans>Silence</Trans>
      </Menu.Item>
    </RowMenu>
  );
}

interface AlertTableProps {
  label: string;
  rows: readonly Alert[] | undefined;
  loading: boolean;
  empty: React.ReactNode;
  chosen?: string | undefined;
  past?: boolean;
}

export function AlertTable({ label, rows, loading, empty, chosen, past = false }: AlertTableProps) {
  const [silencing, setSilencing] = useState<Alert | null>(null);
  const columns: Column<Alert>[] = [
    {
      id: "state",
      header: t`State`,
      width: 120,
      cell: (row) => {
        const { word, tone } = stateOf(row);
        return <Status state={word} tone={tone} />;
      },
    },
    { id: "what", header: t`What`, cell: (row) => <What alert={row} chosen={row.id === chosen} /> },
    {
      id: "about",
      header: t`About`,
      width: 190,
      hideBelow: "sm",
      cell: (row) => <Subject alert={row} />,
    },
    { id: "severity", header: t`Severity`, width: 90, hideBelow: "md", cell: (row) => row.severity },
    {
      id: "since",
      header: past ? t`Resolved` : t`Since`,
      width: 130,
      hideBelow: "sm",
      cell: (row) => <Time at={past ? row.resolved_at : row.started_at} />,
    },
    { id: "who", header: t`Looked after by`, width: 130, hideBelow: "lg", cell: (row) => row.acknowledged_by || "–" },
  ];
  if (!past) columns.push(actionsColumn((row) => <Actions alert={row} onSilence={() => setSilencing(row)} />));
  return (
    <>
      <DataTable label={label} columns={columns} rows={rows} rowKey={(row) => row.id} loading={loading} empty={empty} />
      {silencing ? <SilenceDialog alert={silencing} onClose={() => setSilencing(null)} /> : null}
    </>
  );
}

/** The last calls of this tab: choosing one restores its inputs and shows its answer; two answers can be compared. */
import { plural, t } from "@lingui/core/macro";
import { ActionIcon } from "@mantine/core";
import { IconArrowsDiff } from "@tabler/icons-react";
import { Card } from "@/components/card";
import { clock, duration } from "@/components/format";
import { ToneIcon, type Tone } from "@/components/status";
import classes from "./history-list.module.css";
import { HISTORY_LIMIT, type CallRecord } from "../results/outcome";

const toneOf = (record: CallRecord): [Tone, string] => {
  switch (record.outcome?.kind) {
    case undefined:
      return ["info", t`running`];
    case "result":
      return ["ok", t`answered`];
    case "lost":
      return ["warn", t`unknown`];
    case "cancelled":
      return ["idle", t`stopped`];
    case "error":
      return ["error", t`failed`];
  }
};

function summary(record: CallRecord): string {
  const { outcome } = record;
  if (outcome?.kind === "error") return outcome.message;
  if (outcome?.kind === "lost") return t`result unknown`;
  const batch = record.batchSize > 1 ? t`, batch of ${record.batchSize}` : "";
  const responses = record.parts.length > 0 ? t`, ${plural(record.parts.length, { one: "# response", other: "# responses" })}` : "";
  return `${record.model}${batch}${responses}`;
}

const how = (record: CallRecord): string =>
  [record.deployment, record.options.protocol === "grpc" ? "gRPC" : "HTTP"].filter(Boolean).join(", ");

export interface HistoryListProps {
  history: readonly CallRecord[];
  current: number | null;
  onRestore: (record: CallRecord) => void;
  onCompare: (record: CallRecord) => void;
}

export function HistoryList({ history, current, onRestore, onCompare }: HistoryListProps) {
  if (history.length === 0) return null;
  const shown = history.find((record) => record.id === current);
  const comparable = (record: CallRecord) =>
    record.id !== current && record.outcome?.kind === "result" && shown?.outcome?.kind === "result";
  return (
    <Card title={t`History`} hint={t`last ${HISTORY_LIMIT} calls of this tab, choose one to restore it`} flush>
      <ul className={classes["history"]}>
        {history.map((record) => {
          const [tone, word] = toneOf(record);
          return (
            <li key={record.id} className={classes["past"]}>
              <button type="button" className={classes["entry"]} aria-current={record.id === current} onClick={() => onRestore(record)}>
                <ToneIcon tone={tone} label={word} size={15} />
                <span className="muted">{clock(record.at)}</span>
                <span className="truncate mono">{summary(record)}</span>
                <span className="secondary">{how(record)}</span>
                <span>{record.outcome?.kind === "result" ? duration(record.outcome.roundTripUs) : ""}</span>
              </button>
              {comparable(record) ? (
                <ActionIcon
                  aria-label={t`Compare with the answer of ${clock(record.at)}`}
                  title={t`Compare with the answer in view`}
                  onClick={() => onCompare(record)}
                >
                  <IconArrowsDiff size={15} />
                </ActionIcon>
              ) : null}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

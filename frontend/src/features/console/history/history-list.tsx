/** The last calls of this tab; choosing one restores its inputs and shows its answer. */
import { Card } from "@/components/card";
import { clock, duration } from "@/components/format";
import { ToneIcon, type Tone } from "@/components/status";
import classes from "../console.module.css";
import { HISTORY_LIMIT, type CallRecord } from "../results/outcome";

const toneOf = (record: CallRecord): [Tone, string] => {
  if (record.outcome === null) return ["info", "running"];
  if (record.outcome.kind === "result") return ["ok", "answered"];
  return record.outcome.kind === "lost" ? ["warn", "unknown"] : ["error", "failed"];
};

function summary(record: CallRecord): string {
  const { outcome } = record;
  if (outcome?.kind === "error") return outcome.message;
  if (outcome?.kind === "lost") return "result unknown";
  return `${record.model}${record.batchSize > 1 ? `, batch of ${record.batchSize}` : ""}`;
}

export interface HistoryListProps {
  history: readonly CallRecord[];
  current: number | null;
  onRestore: (record: CallRecord) => void;
}

export function HistoryList({ history, current, onRestore }: HistoryListProps) {
  if (history.length === 0) return null;
  return (
    <Card title="History" hint={`last ${HISTORY_LIMIT} calls of this tab, choose one to restore it`} flush>
      <ul className={classes["history"]}>
        {history.map((record) => {
          const [tone, word] = toneOf(record);
          return (
            <li key={record.id}>
              <button
                type="button"
                className={classes["entry"]}
                aria-current={record.id === current}
                onClick={() => onRestore(record)}
              >
                <ToneIcon tone={tone} label={word} size={15} />
                <span className="muted">{clock(record.at)}</span>
                <span className="truncate mono">{summary(record)}</span>
                <span className="secondary">
                  {[record.deployment, record.protocol === "grpc" ? "gRPC" : "HTTP"].filter(Boolean).join(", ")}
                </span>
                <span>{record.outcome?.kind === "result" ? duration(record.outcome.roundTripUs) : ""}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

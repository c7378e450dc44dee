/** Every node with its verdict; GPUs as bars: used now, and striped what would come. */
import { IconCheck, IconX } from "@tabler/icons-react";
import { Card } from "@/components/card";
import { bytes, counted, percent } from "@/components/format";
import { Chip, Status, ToneIcon } from "@/components/status";
import type { GpuBar, NodeCard } from "../config/placement-view";
import shared from "../deploy.module.css";
import classes from "./node-cards.module.css";

export function NodeCards({ cards }: { cards: readonly NodeCard[] }) {
  return (
    <>
      {cards.map((card) => (
        <OneNode key={card.node.name} card={card} />
      ))}
    </>
  );
}

function OneNode({ card }: { card: NodeCard }) {
  const { node, verdict, replicas, gpus, warnings } = card;
  const { info } = node;
  const failed = verdict.checks.filter((check) => !check.ok);
  return (
    <Card
      level={3}
      title={<span className="mono">{node.name}</span>}
      hint={<Status state={node.cordoned ? "Cordoned" : node.state} plain />}
      actions={
        <>
          {replicas > 0 ? <Chip tone="info">{replicas === 1 ? "1 replica" : `${replicas} replicas`}</Chip> : null}
          <Chip tone={verdict.reason === null ? "ok" : "error"}>{verdict.reason === null ? "Fits" : "Does not fit"}</Chip>
        </>
      }
      className={replicas > 0 ? (classes["chosenNode"] ?? "") : ""}
    >
      <div className={shared["stack"]} style={{ gap: 10 }}>
        {gpus.map((bar) => (
          <Gpu key={bar.uuid} bar={bar} />
        ))}
        <dl className={classes["nodeFacts"]}>
          <div>
            <dt>Processors</dt>
            <dd>
              {counted(info.cpu_count, "core")}, {percent(info.cpu_utilization)} busy
            </dd>
          </div>
          <div>
            <dt>Memory</dt>
            <dd>
              {bytes(info.memory_total_bytes - info.memory_used_bytes)} of {bytes(info.memory_total_bytes)} free
            </dd>
          </div>
          <div>
            <dt>Disk</dt>
            <dd>{bytes(info.disk_free_bytes)} free</dd>
          </div>
          {gpus.length === 0 ? (
            <div>
              <dt>GPUs</dt>
              <dd>none</dd>
            </div>
          ) : null}
        </dl>
        {warnings.map((warning) => (
          <div key={warning} className={shared["verdict"]}>
            <ToneIcon tone="warn" label="Warning" />
            <span>{warning}</span>
          </div>
        ))}
        {failed.length > 0 ? (
          <ul className={classes["checks"]} aria-label={`What speaks against ${node.name}`}>
            {failed.map((check) => (
              <li key={check.name}>
                <IconX size={14} color="var(--error)" aria-hidden /> {check.detail}
              </li>
            ))}
          </ul>
        ) : (
          <details className={classes["why"]}>
            <summary>{verdict.because}</summary>
            <ul className={classes["checks"]}>
              {verdict.checks.map((check) => (
                <li key={check.name}>
                  <IconCheck size={14} color="var(--ok)" aria-hidden /> {check.detail}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </Card>
  );
}

function Gpu({ bar }: { bar: GpuBar }) {
  const share = (size: number) => `${Math.min(100, (size / Math.max(1, bar.total)) * 100)}%`;
  const after = bar.used + bar.added;
  const words = `GPU ${bar.index}, ${bar.name}: ${bytes(bar.used)} of ${bytes(bar.total)} used now${
    bar.added > 0 ? `, about ${bytes(after)} afterwards` : ""
  }`;
  return (
    <div className={classes["gpu"]}>
      <span className={classes["gpuName"]}>
        <strong>GPU {bar.index}</strong> <span className="secondary truncate">{bar.name}</span>
      </span>
      <span className={classes["gpuBar"]} role="img" aria-label={words} data-over={after > bar.total ? "" : undefined}>
        <span className={classes["gpuUsed"]} style={{ width: share(bar.used) }} />
        <span className={classes["gpuAdded"]} style={{ width: share(bar.added) }} />
      </span>
      <span className={classes["gpuText"]}>
        {bytes(bar.used)}
        {bar.added > 0 ? ` → ${bytes(after)}` : ""} of {bytes(bar.total)}
      </span>
    </div>
  );
}

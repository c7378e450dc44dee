/** Every node with its verdict; GPUs as bars: used now, and striped what would come. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconCheck, IconX } from "@tabler/icons-react";
import { Card } from "@/components/card";
import { bytes, percent } from "@/components/format";
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
          {replicas > 0 ? <Chip tone="info">{plural(replicas, { one: "# replica", other: "# replicas" })}</Chip> : null}
          <Chip tone={verdict.reason === null ? "ok" : "error"}>{verdict.reason === null ? t`Fits` : t`Does not fit`}</Chip>
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
            <dt>
              <Trans>Processors</Trans>
            </dt>
            <dd>
              <Trans>
                {plural(info.cpu_count, { one: "# core", other: "# cores" })}, {percent(info.cpu_utilization)} busy
              </Trans>
            </dd>
          </div>
          <div>
            <dt>
              <Trans>Memory</Trans>
            </dt>
            <dd>
              <Trans>
                {bytes(info.memory_total_bytes - info.memory_used_bytes)} of {bytes(info.memory_total_bytes)} free
              </Trans>
            </dd>
          </div>
          <div>
            <dt>
              <Trans>Disk</Trans>
            </dt>
            <dd>
              <Trans>{bytes(info.disk_free_bytes)} free</Trans>
            </dd>
          </div>
          {gpus.length === 0 ? (
            <div>
              <dt>
                <Trans>GPUs</Trans>
              </dt>
              <dd>
                <Trans>none</Trans>
              </dd>
            </div>
          ) : null}
        </dl>
        {warnings.map((warning) => (
          <div key={warning} className={shared["verdict"]}>
            <ToneIcon tone="warn" label={t`Warning`} />
            <span>{warning}</span>
          </div>
        ))}
        {failed.length > 0 ? (
          <ul className={classes["checks"]} aria-label={t`What speaks against ${node.name}`}>
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
  const [used, then, total] = [bytes(bar.used), bytes(after), bytes(bar.total)];
  const now = t`GPU ${bar.index}, ${bar.name}: ${used} of ${total} used now`;
  const figures = bar.added > 0 ? `${used} → ${then}` : used;
  return (
    <div className={classes["gpu"]}>
      <span className={classes["gpuName"]}>
        <strong>
          <Trans>GPU {bar.index}</Trans>
        </strong>{" "}
        <span className="secondary truncate">{bar.name}</span>
      </span>
      <span
        className={classes["gpuBar"]}
        role="img"
        aria-label={bar.added > 0 ? t`${now}, about ${then} afterwards` : now}
        data-over={after > bar.total ? "" : undefined}
      >
        <span className={classes["gpuUsed"]} style={{ width: share(bar.used) }} />
        <span className={classes["gpuAdded"]} style={{ width: share(bar.added) }} />
      </span>
      <span className={classes["gpuText"]}>
        <Trans>
          {figures} of {total}
        </Trans>
      </span>
    </div>
  );
}

/** One part: how it does, why we think so, and what to do. */
import { Trans } from "@lingui/react/macro";
import type { SystemPart } from "@/api/types";
import { count, seconds } from "@/components/format";
import { Status } from "@/components/status";
import { TONES, WORDS } from "../order";
import { RemoveGateway } from "./remove-gateway";
import classes from "./part-row.module.css";

export function PartRow({ part }: { part: SystemPart }) {
  return (
    <li className={classes["row"]}>
      <div className={classes["name"]}>{part.name}</div>
      <Status state={WORDS[part.state]} tone={TONES[part.state]} />
      <div className={classes["words"]}>
        <p>{part.summary}</p>
        {part.hint ? <p className={classes["hint"]}>{part.hint}</p> : null}
        {part.kind === "gateway" && part.state === "error" ? <RemoveGateway name={part.name} /> : null}
      </div>
      <dl className={classes["facts"]}>
        {part.depth === null ? null : (
          <div>
            <dt>
              <Trans>waiting</Trans>
            </dt>
            <dd>{count(part.depth)}</dd>
          </div>
        )}
        {part.lag_s === null ? null : (
          <div>
            <dt>
              <Trans>waited</Trans>
            </dt>
            <dd>{seconds(part.lag_s)}</dd>
          </div>
        )}
        {part.facts.map((fact) => (
          <div key={fact.name}>
            <dt>{fact.name}</dt>
            <dd title={fact.value}>{fact.value}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

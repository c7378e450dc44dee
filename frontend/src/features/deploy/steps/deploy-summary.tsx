/** What is about to be deployed, in one look before the last button. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Fragment } from "react";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { bytes } from "@/components/format";
import { labelText } from "@/components/labels";
import { lineageFacts, saidIn } from "@/components/lineage";
import { Chip } from "@/components/status";
import { changedConfigs, type DeploySource } from "../config/source";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { trafficText } from "../draft/first-traffic";
import { deployRecipe } from "../draft/recipe";

export interface DeploySummaryProps {
  source: DeploySource;
  draft: DraftForm;
  nameNote: string;
}

const TARGETS: Record<DraftForm["target"], string> = { new: t`new`, existing: t`existing` };

export function DeploySummary({ source, draft, nameNote }: DeploySummaryProps) {
  const changed = Object.keys(changedConfigs(source.models, draft.texts)).length;
  return (
    <Card title={t`Summary`} actions={<AsCodeButton recipe={() => deployRecipe(source, draft)} />}>
      <dl className={classes["facts"]}>
        <dt>
          <Trans>Model</Trans>
        </dt>
        <dd>
          <span className="mono">{draft.modelName}</span> <span className="secondary">{nameNote}</span>
        </dd>
        <dt>
          <Trans>File</Trans>
        </dt>
        <dd>
          <span className="mono">{source.filename}</span> <span className="secondary">{bytes(source.size)}</span>
        </dd>
        {lineageFacts({ ...source.lineage, ...(source.registered ? {} : saidIn(draft.lineage)) }).map(([term, value]) => (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
        <dt>
          <Trans>Configuration</Trans>
        </dt>
        <dd>
          {changed === 0 ? t`as completed from the model` : t`edited by you (${plural(changed, { one: "# model", other: "# models" })})`}
        </dd>
        <dt>
          <Trans>Machine</Trans>
        </dt>
        <dd>
          {draft.instanceType || t`any node`}
          {draft.antiAffinity === "required" ? t`, one replica per node` : ""}
          {Object.keys(draft.nodeLabels).length > 0 ? t`, only with ${labelText(draft.nodeLabels)}` : ""}
        </dd>
        <dt>
          <Trans>Endpoint</Trans>
        </dt>
        <dd>
          <span className="mono">{draft.endpoint || "–"}</span> <Chip>{TARGETS[draft.target]}</Chip>
        </dd>
        <dt>
          <Trans>Deployment</Trans>
        </dt>
        <dd>
          <span className="mono">{draft.deployment || "–"}</span>{" "}
          <span className="secondary">
            {plural(draft.instanceCount, { one: "# replica", other: "# replicas" })}, {trafficText(draft.traffic)}
          </span>
        </dd>
      </dl>
    </Card>
  );
}

/** What is about to be deployed, in one look before the last button. */
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { bytes, counted } from "@/components/format";
import { labelText } from "@/components/labels";
import { Chip } from "@/components/status";
import { changedConfigs, type DeploySource } from "../config/source";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { deployRecipe } from "../draft/recipe";

export interface DeploySummaryProps {
  source: DeploySource;
  draft: DraftForm;
  nameNote: string;
}

export function DeploySummary({ source, draft, nameNote }: DeploySummaryProps) {
  const changed = Object.keys(changedConfigs(source.models, draft.texts)).length;
  return (
    <Card title="Summary" actions={<AsCodeButton recipe={() => deployRecipe(source, draft)} />}>
      <dl className={classes["facts"]}>
        <dt>Model</dt>
        <dd>
          <span className="mono">{draft.modelName}</span> <span className="secondary">{nameNote}</span>
        </dd>
        <dt>File</dt>
        <dd>
          <span className="mono">{source.filename}</span> <span className="secondary">{bytes(source.size)}</span>
        </dd>
        <dt>Configuration</dt>
        <dd>{changed === 0 ? "as completed from the model" : `edited by you (${counted(changed, "model")})`}</dd>
        <dt>Machine</dt>
        <dd>
          {draft.instanceType || "any node"}
          {draft.antiAffinity === "required" ? ", one replica per node" : ""}
          {Object.keys(draft.nodeLabels).length > 0 ? `, only with ${labelText(draft.nodeLabels)}` : ""}
        </dd>
        <dt>Endpoint</dt>
        <dd>
          <span className="mono">{draft.endpoint || "–"}</span> <Chip>{draft.target}</Chip>
        </dd>
        <dt>Deployment</dt>
        <dd>
          <span className="mono">{draft.deployment || "–"}</span>{" "}
          <span className="secondary">
            {counted(draft.instanceCount, "replica")}, {draft.takeTraffic ? "100 %" : "0 %"} of the traffic
          </span>
        </dd>
      </dl>
    </Card>
  );
}

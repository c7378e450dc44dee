/** An ensemble drawn: steps from left to right, tensors between them. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { ModelVersion } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { LinkButton } from "@/components/link-button";
import { ensembleSpec, pipelineGraph } from "@/components/pipeline/graph";
import { PipelineDrawing } from "@/components/pipeline/pipeline-drawing";

interface EnsembleCardProps {
  version: ModelVersion;
  /** The ensemble among the version's models. */
  of: string;
  config: Record<string, unknown> | null;
}

export function EnsembleCard({ version, of, config }: EnsembleCardProps) {
  const spec = ensembleSpec(config);
  if (!spec) return null;
  return (
    <Card
      title={t`Ensemble`}
      hint={t`what passes from step to step`}
      actions={
        <LinkButton {...paths.modelTab(version.model, version.version, "config")} search={{ of }} variant="default">
          <Trans>Edit the steps</Trans>
        </LinkButton>
      }
    >
      <PipelineDrawing graph={pipelineGraph(spec, version.repo_models)} label={t`Ensemble graph`} />
    </Card>
  );
}

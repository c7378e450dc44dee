/** An ensemble drawn: steps from left to right, tensors between them. */
import { t } from "@lingui/core/macro";
import type { RepoModel } from "@/api/types";
import { Card } from "@/components/card";
import { ensembleSpec, pipelineGraph } from "@/components/pipeline/graph";
import { PipelineDrawing } from "@/components/pipeline/pipeline-drawing";

export function EnsembleCard({ config, models }: { config: Record<string, unknown> | null; models: readonly RepoModel[] }) {
  const spec = ensembleSpec(config);
  if (!spec) return null;
  return (
    <Card title={t`Ensemble`} hint={t`what passes from step to step`}>
      <PipelineDrawing graph={pipelineGraph(spec, models)} label={t`Ensemble graph`} />
    </Card>
  );
}

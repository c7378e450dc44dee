/** An ensemble drawn: steps from left to right, tensors between them. */
import type { RepoModel } from "@/api/types";
import { Card } from "@/components/card";
import { ensembleSpec, pipelineGraph } from "@/components/pipeline/graph";
import { PipelineDrawing } from "@/components/pipeline/pipeline-drawing";

export function EnsembleCard({ config, models }: { config: Record<string, unknown> | null; models: readonly RepoModel[] }) {
  const spec = ensembleSpec(config);
  if (!spec) return null;
  return (
    <Card title="Ensemble" hint="what passes from step to step">
      <PipelineDrawing graph={pipelineGraph(spec, models)} label="Ensemble graph" />
    </Card>
  );
}

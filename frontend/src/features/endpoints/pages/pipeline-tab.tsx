/** The models of a deployment at work: ensembles drawn with what passes between steps, live figures on each, marks on the slow and faulty. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { pipelineQuery } from "@/api/bottlenecks";
import { modelVersionQuery, repoModelConfigQuery } from "@/api/models";
import type { Deployment } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { ensembleSpec, looseGraph, pipelineGraph } from "@/components/pipeline/graph";
import { PipelineDrawing } from "@/components/pipeline/pipeline-drawing";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { useLiveState, usePipelineUpdates } from "@/live/hooks";
import { useEndpoint } from "../hooks/use-endpoint";
import { busiest, firstEnsemble, marksOf, stepTexts, summary } from "../pipeline/steps";
import { StepsTable } from "../pipeline/steps-table";
import classes from "../pipeline/pipeline.module.css";

export function PipelineTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/pipeline" });
  const navigate = useNavigate({ from: "/endpoints/$name/pipeline" });
  const names = endpoint.deployments.map((one) => one.name);
  const shown = search.dep && names.includes(search.dep) ? search.dep : busiest(names, endpoint.traffic);
  const deployment = endpoint.deployments.find((one) => one.name === shown);
  if (!deployment) return <EmptyState title={t`No deployments yet`} detail={t`A pipeline is what a deployment of several models is.`} />;
  return (
    <>
      {names.length > 1 ? (
        <div className={toolbar["toolbar"]}>
          <Segmented
            label={t`Deployment`}
            value={shown}
            options={names.map((name) => ({ value: name, label: name }))}
            onChange={(dep) => void navigate({ search: { dep }, replace: true })}
          />
        </div>
      ) : null}
      <PipelineOf
        key={deployment.name}
        endpoint={endpoint.name}
        deployment={deployment}
        of={search.of}
        onOf={(of) => void navigate({ search: (old) => ({ ...old, of }), replace: true })}
      />
    </>
  );
}

interface PipelineOfProps {
  endpoint: string;
  deployment: Deployment;
  /** The ensemble that is drawn, where there are several. */
  of: string | undefined;
  onOf: (name: string) => void;
}

export function PipelineOf({ endpoint, deployment, of, onOf }: PipelineOfProps) {
  usePipelineUpdates(endpoint, deployment.name);
  const linkState = useLiveState();
  const figures = useQuery(pipelineQuery(endpoint, deployment.name));
  const version = useQuery(modelVersionQuery(deployment.model, deployment.version));
  const models = version.data?.repo_models ?? [];
  const ensembles = models.filter((one) => one.platform === "ensemble").map((one) => one.name);
  const drawn = of && ensembles.includes(of) ? of : firstEnsemble(ensembles, figures.data);
  const config = useQuery({
    ...repoModelConfigQuery(deployment.model, deployment.version, drawn ?? "", deployment.config_revision ?? 0),
    enabled: drawn !== undefined,
  });
  const graph = useMemo(() => {
    const repository = version.data?.repo_models;
    if (!repository) return null;
    if (drawn === undefined) return looseGraph(repository.map((one) => one.name));
    const spec = ensembleSpec(config.data?.config ?? null);
    return spec ? pipelineGraph(spec, repository) : null;
  }, [config.data, drawn, version.data]);
  const error = figures.error ?? version.error ?? config.error;
  if (error) {
    return (
      <ProblemCard
        error={error}
        title={t`The pipeline could not be loaded`}
        onRetry={() => void Promise.all([figures.refetch(), version.refetch(), drawn === undefined ? null : config.refetch()])}
      />
    );
  }
  if (version.data && models.length < 2) {
    return (
      <EmptyState
        title={t`${deployment.name} runs one model`}
        detail={t`Where a deployment has an ensemble, or a model that calls others, its steps are drawn here, with what each is doing.`}
        action={
          <LinkButton {...paths.endpointTab(endpoint, "metrics")} variant="default">
            <Trans>Metrics</Trans>
          </LinkButton>
        }
      />
    );
  }
  if (!graph || !figures.data) return <SkeletonRows rows={8} label={t`Loading the pipeline`} />;
  const said = summary(figures.data) ?? t`Nothing is measured: no replica is heard of.`;
  const whole = figures.data.models.find((one) => one.name === drawn);
  const stale = linkState === "reconnecting" || linkState === "offline";
  return (
    <div className={classes["stack"]}>
      <Card
        className={classes["drawing"] ?? ""}
        title={
          <span className={classes["marks"]}>
            {drawn ?? t`Models`}
            {whole ? marksOf(whole).map((mark) => <Status key={mark.text} state={mark.text} tone={mark.tone} />) : null}
          </span>
        }
        hint={
          drawn === undefined ? t`which of them calls which is in no configuration, and not counted` : t`the last ${figures.data.seconds} s`
        }
        actions={
          ensembles.length > 1 ? (
            <Select
              aria-label={t`Ensemble`}
              allowDeselect={false}
              value={drawn ?? null}
              data={ensembles}
              onChange={(name) => name && onOf(name)}
            />
          ) : undefined
        }
      >
        <div className={classes["live"]} data-dimmed={stale || undefined}>
          <PipelineDrawing graph={graph} label={t`Pipeline of ${deployment.name}`} texts={stepTexts(graph, figures.data)} />
        </div>
      </Card>
      <Card title={t`Steps`} hint={<span role="status">{said}</span>} flush>
        <StepsTable steps={figures.data.models} />
      </Card>
    </div>
  );
}

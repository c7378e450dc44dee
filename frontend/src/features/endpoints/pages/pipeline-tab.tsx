/** The models of a deployment at work: ensembles and models that call others drawn, live figures on each, marks on the slow and faulty. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { pipelineQuery } from "@/api/bottlenecks";
import { modelVersionQuery, repoModelConfigQuery } from "@/api/models";
import type { Deployment, RepoModelConfig } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { withCalls } from "@/components/pipeline/calls";
import { ensembleSpec, looseGraph, pipelineGraph, type PipelineSpec } from "@/components/pipeline/graph";
import { PipelineDrawing } from "@/components/pipeline/pipeline-drawing";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { useLiveState, usePipelineUpdates } from "@/live/hooks";
import { useEndpoint } from "../hooks/use-endpoint";
import { CallsTable } from "../pipeline/calls-table";
import { busiest, callTexts, firstHead, heads, marksOf, stepTexts, summary } from "../pipeline/steps";
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

/** Of an ensemble that can be read, by its name. */
function specOf(name: string, data: RepoModelConfig | undefined): [string, PipelineSpec][] {
  const spec = ensembleSpec(data?.config ?? null);
  return spec ? [[name, spec]] : [];
}

interface PipelineOfProps {
  endpoint: string;
  deployment: Deployment;
  /** The ensemble or the calling model that is drawn, where there are several. */
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
  const options = heads(ensembles, figures.data);
  const drawn = of && options.includes(of) ? of : firstHead(options, figures.data);
  const configs = useQueries({
    queries: ensembles.map((name) => repoModelConfigQuery(deployment.model, deployment.version, name, deployment.config_revision ?? 0)),
    combine: (results) => ({
      specs: new Map(results.flatMap(({ data }, index) => specOf(ensembles[index] ?? "", data))),
      pending: results.some((one) => one.isPending),
      error: results.find((one) => one.error && !one.data)?.error ?? null,
      refetch: () => Promise.all(results.map((one) => one.refetch())),
    }),
  });
  const graph = useMemo(() => {
    const repository = version.data?.repo_models;
    const calls = figures.data?.calls;
    if (!repository || !calls || configs.pending) return null;
    if (drawn === undefined) return looseGraph(repository.map((one) => one.name));
    const spec = configs.specs.get(drawn);
    return withCalls(spec ? pipelineGraph(spec, repository) : looseGraph([drawn]), { calls, specs: configs.specs, models: repository });
  }, [configs, drawn, figures.data, version.data]);
  // why not of what is there: the figures of before stay where a later try fails
  const error = (figures.data ? null : figures.error) ?? (version.data ? null : version.error) ?? configs.error;
  if (error) {
    return (
      <ProblemCard
        error={error}
        title={t`The pipeline could not be loaded`}
        onRetry={() => void Promise.all([figures.refetch(), version.refetch(), configs.refetch()])}
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
        hint={drawn === undefined ? t`no model has called another one yet` : t`the last ${figures.data.seconds} s`}
        actions={
          options.length > 1 ? (
            <Select
              aria-label={t`Begins with`}
              allowDeselect={false}
              value={drawn ?? null}
              data={options}
              onChange={(name) => name && onOf(name)}
            />
          ) : undefined
        }
      >
        <div className={classes["live"]} data-dimmed={stale || undefined}>
          <PipelineDrawing
            graph={graph}
            label={t`Pipeline of ${deployment.name}`}
            texts={stepTexts(graph, figures.data)}
            callTexts={callTexts(graph, figures.data)}
          />
        </div>
      </Card>
      <Card title={t`Steps`} hint={<span role="status">{said}</span>} flush>
        <StepsTable steps={figures.data.models} />
      </Card>
      {figures.data.calls.length > 0 || models.some((one) => one.backend === "python") ? (
        <Card title={t`Calls between models`} hint={t`by Python models (BLS), as replicas counted them since they loaded these`} flush>
          <CallsTable calls={figures.data.calls} />
        </Card>
      ) : null}
    </div>
  );
}

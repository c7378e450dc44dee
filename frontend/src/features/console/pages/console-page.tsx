/** The test console: a tab of an endpoint, and a page of its own that asks which endpoint. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { endpointQuery, endpointsQuery } from "@/api/endpoints";
import { isFinished, operationQuery } from "@/api/operations";
import type { Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { SkeletonRows } from "@/components/skeleton";
import { Console } from "./console";

const READY_POLL_MS = 3_000;
const PROGRESS_POLL_MS = 1_000;

const isReady = (endpoint: Endpoint) =>
  endpoint.deployments.some((one) => one.replicas.some((replica) => replica.state.toLowerCase() === "ready"));

export function ConsolePage() {
  const params: { name?: string } = useParams({ strict: false });
  return params.name === undefined ? <StandAlone /> : <OfEndpoint name={params.name} />;
}

function StandAlone() {
  const search: { endpoint?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  usePageTitle(search.endpoint ?? t`Test console`, t`Test`);
  const { data, error, refetch } = useQuery(endpointsQuery());
  const endpoints = data?.items ?? [];
  const only = endpoints.length === 1 ? endpoints[0]?.name : undefined;
  const name = search.endpoint ?? only;
  return (
    <>
      <PageHeader
        title={t`Test console`}
        actions={
          endpoints.length > 0 ? (
            <Select
              aria-label={t`Endpoint`}
              w={260}
              searchable
              placeholder={t`Choose an endpoint`}
              value={name ?? null}
              data={endpoints.map((endpoint) => endpoint.name)}
              onChange={(next) => {
                if (next !== null) void navigate(paths.test(next));
              }}
            />
          ) : undefined
        }
      />
      {error ? <ProblemCard error={error} title={t`The endpoints could not be loaded`} onRetry={() => void refetch()} /> : null}
      {name !== undefined ? (
        <OfEndpoint key={name} name={name} />
      ) : data ? (
        <Card>
          <EmptyState
            title={endpoints.length === 0 ? t`There is no endpoint to test yet` : t`Choose an endpoint to test`}
            detail={endpoints.length === 0 ? t`Deploy a model; its console opens here.` : t`The form is made from the model's own inputs.`}
            icon={<IconPlugConnectedX size={26} stroke={1.6} aria-hidden />}
            action={
              endpoints.length === 0 ? (
                <RefusingLink needs="deploy" link={paths.deploy()}>
                  <Trans>Deploy a model</Trans>
                </RefusingLink>
              ) : undefined
            }
          />
        </Card>
      ) : error ? null : (
        <SkeletonRows rows={6} label={t`Loading the endpoints`} />
      )}
    </>
  );
}

function OfEndpoint({ name }: { name: string }) {
  const search: { dep?: string; preset?: string; captured?: string; at?: number } = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = (part: { dep?: string | undefined; preset?: string | undefined }, replace: boolean) =>
    void navigate({ to: ".", search: (old: Record<string, unknown>) => ({ ...old, ...part }), replace });
  const { data, error, refetch } = useQuery({
    ...endpointQuery(name),
    // Nothing to send to yet: look again until there is.
    refetchInterval: (query) => (query.state.data && !isReady(query.state.data) ? READY_POLL_MS : false),
  });
  if (!data) {
    return error ? (
      <ProblemCard error={error} title={t`${name} cannot be tested`} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={6} label={t`Loading the endpoint`} />
    );
  }
  if (!isReady(data)) return <NotReady endpoint={data} />;
  const deployment = data.deployments.some((one) => one.name === search.dep) ? (search.dep ?? null) : firstTarget(data);
  return (
    <Console
      endpoint={data}
      deployment={deployment}
      onDeployment={(next) => set({ dep: next ?? undefined }, true)}
      preset={search.preset ?? null}
      onPreset={(id) => set({ preset: id ?? undefined }, false)}
      captured={search.captured !== undefined && search.at !== undefined ? { id: search.captured, at: search.at } : null}
    />
  );
}

/** By traffic when some flows; else the first deployment that can answer. */
function firstTarget(endpoint: Endpoint): string | null {
  if (Object.values(endpoint.traffic).some((share) => share > 0)) return null;
  return endpoint.deployments.find((one) => one.replicas.some((replica) => replica.state.toLowerCase() === "ready"))?.name ?? null;
}

/** How far the deployment is that this console waits for. */
function Progress({ id }: { id: string }) {
  const { data } = useQuery({
    ...operationQuery(id),
    refetchInterval: (query) => (query.state.data && isFinished(query.state.data) ? false : PROGRESS_POLL_MS),
  });
  const running = data?.stages.find((stage) => stage.status === "running");
  return (
    <>
      {data ? <p role="status">{running ? `${running.title}${running.detail ? `: ${running.detail}` : ""}` : data.state}</p> : null}
      <Button variant="default" renderRoot={(props) => <Link {...paths.operation(id)} {...props} />}>
        <Trans>Show the progress</Trans>
      </Button>
    </>
  );
}

function NotReady({ endpoint }: { endpoint: Endpoint }) {
  const busy = endpoint.deployments.find((one) => one.operation !== null && one.error === null);
  return (
    <Card>
      <EmptyState
        title={endpoint.deployments.length === 0 ? t`${endpoint.name} has no deployment` : t`No deployment of ${endpoint.name} is ready`}
        detail={
          endpoint.deployments.length === 0
            ? t`Deploy a model to it first.`
            : endpoint.deployments
                .map((one) => `${one.name}: ${one.replicas.map((replica) => replica.state).join(", ") || one.provisioning_state}`)
                .join(" · ")
        }
        icon={<IconPlugConnectedX size={26} stroke={1.6} aria-hidden />}
        action={
          busy?.operation ? (
            <Progress id={busy.operation} />
          ) : (
            <RefusingLink needs="deploy" link={paths.deploy({ endpoint: endpoint.name })}>
              <Trans>Deploy a model</Trans>
            </RefusingLink>
          )
        }
      />
    </Card>
  );
}

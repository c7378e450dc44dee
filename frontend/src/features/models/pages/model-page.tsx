/** `/models/NAME` leads to the newest version. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "@tanstack/react-router";
import { modelQuery } from "@/api/models";
import { toProblem } from "@/api/problem";
import { paths } from "@/app/paths";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { PageHeader } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";

export function ModelPage() {
  const { name } = useParams({ from: "/app/models/$name" });
  const { data, error, refetch } = useQuery(modelQuery(name));
  if (data?.latest_version) return <Navigate {...paths.modelVersion(name, data.latest_version)} replace />;
  const backToList = (
    <LinkButton {...paths.models()} variant="default">
      <Trans>All models</Trans>
    </LinkButton>
  );
  return (
    <>
      <PageHeader title={name} />
      {error && toProblem(error).status === 404 ? (
        <EmptyState title={t`There is no model ${name}`} detail={t`It may have been deleted.`} action={backToList} />
      ) : null}
      {error && toProblem(error).status !== 404 ? (
        <ProblemCard error={error} title={t`The model could not be loaded`} onRetry={() => void refetch()} />
      ) : null}
      {data && !data.latest_version ? <EmptyState title={t`This model has no versions`} action={backToList} /> : null}
      {!data && !error ? <SkeletonRows label={t`Loading the model`} /> : null}
    </>
  );
}

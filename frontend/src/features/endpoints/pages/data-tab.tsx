/** What a deployment is asked and answers, and whether that has changed. */
import { t } from "@lingui/core/macro";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useRefusal } from "@/api/permissions";
import { DATA_HOURS } from "@/app/search";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { Forbidden } from "@/components/forbidden";
import { Segmented } from "@/components/segmented";
import toolbar from "@/components/toolbar.module.css";
import { FeaturesCard } from "../data/features-card";
import { FilesCard } from "../data/files-card";
import { useEndpoint } from "../hooks/use-endpoint";

const WINDOW = "window";
const HOUR_LABELS: Record<(typeof DATA_HOURS)[number], string> = { 1: t`1 hour`, 24: t`1 day`, 168: t`7 days` };

export function DataTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/data" });
  const navigate = useNavigate({ from: "/endpoints/$name/data" });
  const refusal = useRefusal("deploy");
  const deployment = endpoint.deployments.find((item) => item.name === search.dep) ?? endpoint.deployments[0];
  if (refusal !== undefined) return <Forbidden needs="deploy" what={t`Data`} />;
  if (!deployment) {
    return (
      <Card>
        <EmptyState title={t`No deployments, so no data`} />
      </Card>
    );
  }
  return (
    <>
      <div className={toolbar["toolbar"]}>
        {endpoint.deployments.length > 1 ? (
          <Segmented
            label={t`Deployment`}
            value={deployment.name}
            options={endpoint.deployments.map((item) => ({ value: item.name, label: item.name }))}
            onChange={(dep) => void navigate({ search: (old) => ({ ...old, dep }), replace: true })}
          />
        ) : null}
        <Segmented
          label={t`How far back`}
          value={String(search.hours ?? WINDOW)}
          options={[
            { value: WINDOW, label: t`Window of drift` },
            ...DATA_HOURS.map((one) => ({ value: String(one), label: HOUR_LABELS[one] })),
          ]}
          onChange={(value) =>
            void navigate({ search: (old) => ({ ...old, hours: DATA_HOURS.find((one) => String(one) === value) }), replace: true })
          }
        />
      </div>
      <FeaturesCard endpoint={endpoint.name} deployment={deployment} hours={search.hours} />
      <FilesCard endpoint={endpoint.name} deployment={deployment.name} />
    </>
  );
}

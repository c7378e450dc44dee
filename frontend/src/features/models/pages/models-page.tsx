/** The registry: every model with its newest version and where it is deployed. */
import { IconCube, IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { modelsQuery } from "@/api/models";
import type { Model } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { ListFilter } from "@/components/list-filter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";

const PAGE = 200;

function backends(model: Model): string {
  return [...new Set(model.latest?.repo_models.map((item) => item.backend || item.platform) ?? [])].join(", ");
}

const COLUMNS: Column<Model>[] = [
  {
    id: "name",
    header: "Name",
    sortValue: (row) => row.name,
    cell: (row) => (
      <>
        <Link {...paths.model(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>{" "}
        {row.archived ? <Chip>archived</Chip> : null}
        {row.description ? <div className="secondary truncate">{row.description}</div> : null}
      </>
    ),
  },
  {
    id: "version",
    header: "Latest",
    align: "right",
    sortValue: (row) => row.latest_version,
    cell: (row) => (row.latest_version === null ? "–" : `v${row.latest_version}`),
  },
  { id: "backend", header: "Backend", hideBelow: "md", sortValue: backends, cell: (row) => <span className="mono">{backends(row) || "–"}</span> },
  { id: "size", header: "Size", align: "right", hideBelow: "sm", sortValue: (row) => row.latest?.size ?? null, cell: (row) => bytes(row.latest?.size) },
  {
    id: "used",
    header: "Deployed on",
    cell: (row) =>
      row.used_by.length > 0 ? (
        <span style={{ display: "flex", flexWrap: "wrap", gap: 4 }}>
          {row.used_by.map((name) => (
            <Link key={name} {...paths.endpoint(name)}>
              <Chip tone="info">{name}</Chip>
            </Link>
          ))}
        </span>
      ) : (
        <span className="muted">not deployed</span>
      ),
  },
  { id: "updated", header: "Updated", hideBelow: "md", sortValue: (row) => row.updated_at, cell: (row) => <Time at={row.updated_at} /> },
  { id: "by", header: "By", hideBelow: "lg", cell: (row) => row.latest?.created_by ?? "–" },
];

export function ModelsPage() {
  usePageTitle("Models");
  const search = useSearch({ from: "/app/models" });
  const navigate = useNavigate({ from: "/models" });
  const open = useNavigate();
  const query = search.q ?? "";
  const { data, error, isPending, refetch } = useQuery(modelsQuery({ limit: PAGE }));
  const needle = query.trim().toLowerCase();
  const rows = data?.items.filter((item) => `${item.name} ${item.description}`.toLowerCase().includes(needle));
  const deployButton = (
    <LinkButton {...paths.deploy()} leftSection={<IconRocket size={16} />}>
      Deploy a model
    </LinkButton>
  );
  return (
    <>
      <PageHeader title="Models" actions={deployButton} />
      {error ? <ProblemCard error={error} title="The models could not be loaded" onRetry={() => void refetch()} /> : null}
      {data && data.items.length > 0 ? (
        <div className={toolbar["toolbar"]}>
          <ListFilter
            label="Filter models"
            value={query}
            onChange={(q) => void navigate({ search: (old) => ({ ...old, q: q || undefined }), replace: true })}
          />
          <span className="secondary">{rows?.length === data.items.length ? `${data.items.length} models` : `${rows?.length ?? 0} of ${data.items.length}`}</span>
        </div>
      ) : null}
      {error ? null : (
        <Card flush>
          <DataTable
            label="Models"
            columns={COLUMNS}
            rows={rows}
            rowKey={(row) => row.name}
            loading={isPending}
            sort={search.sort}
            onSort={(sort) => void navigate({ search: (old) => ({ ...old, sort }), replace: true })}
            onOpen={(row) => void open(paths.model(row.name))}
            empty={
              needle ? (
                <EmptyState title={`No model matches “${query}”`} />
              ) : (
                <EmptyState
                  icon={<IconCube size={34} stroke={1.3} />}
                  title="No models yet"
                  detail="Drop an ONNX file or a zipped Triton model repository: it is inspected, registered and can be deployed at once."
                  action={deployButton}
                />
              )
            }
          />
        </Card>
      )}
    </>
  );
}

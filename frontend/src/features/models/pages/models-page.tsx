/** The registry: every model with its newest version and where it is deployed, a page at a time. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconCube, IconRocket } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type ModelSearch, modelsQuery } from "@/api/models";
import type { Model } from "@/api/types";
import { paths } from "@/app/paths";
import { MODEL_ORDERS, type modelsSearch } from "@/app/search";
import { Card } from "@/components/card";
import { chooseProject, useChosenProject } from "@/components/chosen-project";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes, count } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProjectSwitcher } from "@/components/project-switcher";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { UsedBy } from "../components/used-by";
import { ArchivedSelect } from "../components/archiving";
import { TagChips } from "../components/tag-chips";
import classes from "../models.module.css";

const PAGE = 50;
const TYPING_MS = 250;
const BACKENDS = [
  "onnxruntime",
  "pytorch",
  "python",
  "tensorflow",
  "tensorrt",
  "openvino",
  "fil",
  "ensemble",
  "identity",
  "repeat",
  "square",
];
type Order = NonNullable<ModelSearch["order_by"]>;
const ORDERS: Record<(typeof MODEL_ORDERS)[number], Order> = {
  name: "name",
  "-name": "-name",
  updated: "updated_at",
  "-updated": "-updated_at",
  version: "latest_version",
  "-version": "-latest_version",
};

function backends(model: Model): string[] {
  return [...new Set(model.latest?.repo_models.map((item) => item.backend || item.platform) ?? [])].filter(Boolean);
}

const aliasesOf = (model: Model): [string, number][] => Object.entries(model.aliases);

const COLUMNS: Column<Model>[] = [
  {
    id: "name",
    header: t`Name`,
    sortValue: (row) => row.name,
    cell: (row) => (
      <>
        <Link {...paths.model(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>{" "}
        {row.archived ? (
          <Chip tone="warn">
            <Trans>archived</Trans>
          </Chip>
        ) : null}
        {row.description ? <div className="secondary truncate">{row.description}</div> : null}
      </>
    ),
  },
  { id: "project", header: t`Project`, hideBelow: "lg", cell: (row) => row.project },
  {
    id: "version",
    header: t`Latest`,
    align: "right",
    sortValue: (row) => row.latest_version,
    cell: (row) => (row.latest ? `v${row.latest_version}` : "–"),
  },
  {
    id: "backend",
    header: t`Backend`,
    hideBelow: "md",
    cell: (row) => <span className="mono">{backends(row).slice(0, 3).join(", ") || "–"}</span>,
  },
  {
    id: "aliases",
    header: t`Aliases`,
    hideBelow: "lg",
    cell: (row) => (
      <span className={classes["chips"]}>
        {aliasesOf(row).map(([alias, version]) => (
          <Link key={alias} {...paths.modelVersion(row.name, version)}>
            <Chip mono>{`@${alias} v${version}`}</Chip>
          </Link>
        ))}
        {aliasesOf(row).length === 0 ? "–" : null}
      </span>
    ),
  },
  {
    id: "tags",
    header: t`Tags`,
    hideBelow: "lg",
    cell: (row) => <TagChips tags={row.tags} most={3} />,
  },
  { id: "size", header: t`Size`, align: "right", hideBelow: "sm", cell: (row) => bytes(row.latest?.size) },
  {
    id: "used",
    header: t`Deployed on`,
    cell: (row) => <UsedBy endpoints={row.used_by} none={t`not deployed`} />,
  },
  {
    id: "updated",
    header: t`Updated`,
    hideBelow: "md",
    sortValue: (row) => row.updated_at,
    cell: (row) => <Time at={row.updated_at} />,
  },
  { id: "by", header: t`By`, hideBelow: "lg", cell: (row) => row.latest?.created_by ?? "–" },
];

type Filters = ReturnType<typeof modelsSearch>;
type Change = { [Key in keyof Filters]?: Filters[Key] | undefined };

function asked(search: Filters, project: string): ModelSearch {
  const { q, backend, deployed, tag, archived, sort = "-updated", cursor } = search;
  const [key, ...value] = (tag ?? "").split("=");
  return {
    limit: PAGE,
    order_by: ORDERS[sort],
    ...(q ? { q } : {}),
    ...(backend ? { backend } : {}),
    ...(deployed ? { deployed: deployed === "yes" } : {}),
    ...(key ? { [`tag.${key.trim()}` as const]: value.join("=").trim() } : {}),
    ...(archived ? { archived } : {}),
    ...(cursor ? { cursor } : {}),
    ...(project ? { project } : {}),
  };
}

export function ModelsPage() {
  usePageTitle(t`Models`);
  const search: Filters = useSearch({ from: "/app/models" });
  const project = useChosenProject();
  const navigate = useNavigate({ from: "/models" });
  const open = useNavigate();
  const router = useRouter();
  const { data, error, isPending, refetch } = useQuery({ ...modelsQuery(asked(search, project)), placeholderData: keepPreviousData });
  // Any other filter begins again at the first page.
  const filter = (part: Change) =>
    void navigate({
      search: (old) => ({ ...old, ...part, cursor: undefined, page: undefined }) as Filters,
      replace: true,
    });
  const filtered = Boolean(search.q || search.backend || search.deployed || search.tag || search.archived || project);
  const page = search.page ?? 1;
  const first = (page - 1) * PAGE + 1;
  const deployButton = (
    <RefusingLink needs="deploy" link={paths.deploy()} leftSection={<IconRocket size={16} />}>
      <Trans>Deploy a model</Trans>
    </RefusingLink>
  );
  return (
    <>
      <PageHeader title={t`Models`} actions={deployButton} />
      {error ? <ProblemCard error={error} title={t`The models could not be loaded`} onRetry={() => void refetch()} /> : null}
      {filtered || (data && data.items.length > 0) ? (
        <div className={toolbar["toolbar"]}>
          <ProjectSwitcher />
          <Typed value={search.q ?? ""} onChange={(q) => filter({ q: q || undefined })} />
          <Select
            aria-label={t`Backend`}
            placeholder={t`Any backend`}
            w={150}
            clearable
            value={search.backend ?? null}
            data={BACKENDS}
            onChange={(backend) => filter({ backend: backend ?? undefined })}
          />
          <Select
            aria-label={t`Deployed`}
            placeholder={t`Deployed or not`}
            w={150}
            clearable
            value={search.deployed ?? null}
            data={[
              { value: "yes", label: t`Deployed` },
              { value: "no", label: t`Not deployed` },
            ]}
            onChange={(deployed) => filter({ deployed: deployed ?? undefined })}
          />
          <TagFilter value={search.tag ?? ""} onChange={(tag) => filter({ tag: tag || undefined })} />
          <ArchivedSelect value={search.archived} onChange={(archived) => filter({ archived })} />
          <span className="secondary" role="status">
            {data ? plural(data.total, { one: "# model", other: "# models" }) : ""}
          </span>
        </div>
      ) : null}
      {error ? null : (
        <Card flush>
          <DataTable
            label={t`Models`}
            choose="models"
            columns={COLUMNS}
            rows={data?.items}
            rowKey={(row) => row.name}
            loading={isPending}
            sort={search.sort ?? "-updated"}
            onSort={(sort) => filter({ sort: MODEL_ORDERS.find((order) => order === sort) })}
            onOpen={(row) => void open(paths.model(row.name))}
            empty={
              filtered ? (
                <EmptyState
                  title={t`No model matches`}
                  detail={t`Nothing fits all the filters above.`}
                  action={
                    <Button
                      variant="default"
                      onClick={() => {
                        chooseProject("");
                        void navigate({ search: {} });
                      }}
                    >
                      <Trans>Clear the filters</Trans>
                    </Button>
                  }
                />
              ) : (
                <EmptyState
                  icon={<IconCube size={34} stroke={1.3} />}
                  title={t`No models yet`}
                  detail={t`Drop an ONNX file or a zipped Triton model repository: it is inspected, registered and can be deployed at once.`}
                  action={deployButton}
                />
              )
            }
          />
          {data && (data.next_cursor || page > 1) ? (
            <nav className={classes["pager"]} aria-label={t`Pages of models`}>
              <span className="secondary">
                <Trans>
                  {count(first)} to {count(first + data.items.length - 1)} of {count(data.total)}
                </Trans>
              </span>
              <Button variant="default" disabled={page === 1} onClick={() => (page === 2 ? filter({}) : router.history.back())}>
                <Trans>Previous</Trans>
              </Button>
              <Button
                variant="default"
                disabled={!data.next_cursor}
                onClick={() => void navigate({ search: (old) => ({ ...old, cursor: data.next_cursor ?? "", page: page + 1 }) })}
              >
                <Trans>Next</Trans>
              </Button>
            </nav>
          ) : null}
        </Card>
      )}
    </>
  );
}

/** The URL, and with it the server, hears of the text a moment after typing stops. */
function Typed({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const tell = useDebouncedCallback(onChange, TYPING_MS);
  // The address was changed by other means: back, or a link.
  if (value !== known) {
    setKnown(value);
    if (value !== text.trim()) setText(value);
  }
  return (
    <ListFilter
      label={t`Filter models`}
      value={text}
      onChange={(next) => {
        setText(next);
        tell(next.trim());
      }}
    />
  );
}

function TagFilter({ value, onChange }: { value: string; onChange: (tag: string) => void }) {
  const [text, setText] = useState(value);
  return (
    <TextInput
      aria-label={t`Tag`}
      placeholder={t`Tag, as team=vision`}
      w={170}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => onChange(text.trim())}
      onKeyDown={(event) => event.key === "Enter" && onChange(text.trim())}
    />
  );
}

/** One immutable version of a model: what it takes and gives, its files, its configuration, where it runs. */
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { modelQuery, modelVersionQuery, modelVersionsQuery } from "@/api/models";
import { toProblem } from "@/api/problem";
import type { ManifestFile, ModelVersion, RepoModel } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CodeBlock, CopyButton } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes } from "@/components/format";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { Chip, ToneIcon } from "@/components/status";
import { Time } from "@/components/time";
import { TensorTable } from "../components/tensor-table";
import { VersionActions } from "../components/version-actions";
import classes from "./model-version-page.module.css";

const FILE_COLUMNS: Column<ManifestFile>[] = [
  { id: "path", header: "Path", cell: (row) => <span className="mono">{row.path}</span> },
  { id: "size", header: "Size", align: "right", width: 100, cell: (row) => bytes(row.size) },
  {
    id: "sha",
    header: "SHA-256",
    width: 170,
    hideBelow: "md",
    cell: (row) => (
      <span className={classes["hash"]}>
        <span className="mono" title={row.sha256}>
          {row.sha256.slice(0, 12)}
        </span>
        <CopyButton text={row.sha256} label={`SHA-256 of ${row.path}`} />
      </span>
    ),
  },
];

function ConfigCard({ model }: { model: RepoModel }) {
  const written = model.config_text.trim() !== "";
  const [shown, setShown] = useState<"effective" | "written">("effective");
  const text = shown === "written" ? model.config_text : model.config_effective;
  return (
    <Card
      title="config.pbtxt"
      hint={shown === "effective" ? "as the runtime sees it, completed from the graph" : "as it was uploaded"}
      actions={
        written ? (
          <Segmented
            label="Which configuration"
            value={shown}
            options={[
              { value: "effective", label: "Complete" },
              { value: "written", label: "As uploaded" },
            ]}
            onChange={setShown}
          />
        ) : (
          <Chip>completed by Shoal</Chip>
        )
      }
    >
      <CodeBlock code={text} label="config.pbtxt" />
    </Card>
  );
}

function Facts({ version }: { version: ModelVersion }) {
  const facts: [string, React.ReactNode][] = [
    ["Type", version.type],
    ["Uploaded file", <span key="f" className="mono">{version.source_filename}</span>],
    ["Size", bytes(version.size)],
    ["Registered", <Time key="t" at={version.created_at} />],
    ["By", version.created_by],
    [
      "Digest",
      <span key="d" className={classes["hash"]}>
        <span className="mono truncate" title={version.digest}>
          {version.digest.replace(/^sha256:/, "").slice(0, 16)}
        </span>
        <CopyButton text={version.digest} label="digest" />
      </span>,
    ],
  ];
  return (
    <Card title="About this version">
      <dl className={classes["facts"]}>
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Body({ version }: { version: ModelVersion }) {
  const [chosen, setChosen] = useState(0);
  const model = version.repo_models[chosen] ?? version.repo_models[0];
  return (
    <div className={classes["grid"]}>
      <div className={classes["stack"]}>
        {version.repo_models.length > 1 ? (
          <Segmented
            label="Model of the repository"
            value={String(chosen)}
            options={version.repo_models.map((item, index) => ({ value: String(index), label: item.name }))}
            onChange={(value) => setChosen(Number(value))}
          />
        ) : null}
        {model ? (
          <>
            <Card title="Inputs" hint={model.max_batch_size > 0 ? `batches of up to ${model.max_batch_size}` : "no batching"} flush>
              <TensorTable label={`Inputs of ${model.name}`} tensors={model.inputs} maxBatchSize={model.max_batch_size} />
            </Card>
            <Card title="Outputs" flush>
              <TensorTable label={`Outputs of ${model.name}`} tensors={model.outputs} maxBatchSize={model.max_batch_size} />
            </Card>
            <ConfigCard key={model.name} model={model} />
          </>
        ) : (
          <Card>
            <EmptyState title="No model was found in this version" />
          </Card>
        )}
        <Card title="Files" hint={`${version.manifest.length}, ${bytes(version.size)}`} flush>
          <DataTable compact label="Files" columns={FILE_COLUMNS} rows={version.manifest} rowKey={(row) => row.path} />
        </Card>
      </div>
      <div className={classes["stack"]}>
        {version.warnings.length > 0 ? (
          <Card title="Noticed at inspection">
            <ul className={classes["warnings"]}>
              {version.warnings.map((warning) => (
                <li key={warning}>
                  <ToneIcon tone="warn" label="Warning" /> <span>{warning}</span>
                </li>
              ))}
            </ul>
          </Card>
        ) : null}
        <Facts version={version} />
        <Card title="Deployed on">
          {version.used_by.length > 0 ? (
            <ul className={classes["uses"]}>
              {version.used_by.map((name) => (
                <li key={name}>
                  <Link {...paths.endpoint(name)} className="link">
                    {name}
                  </Link>
                </li>
              ))}
            </ul>
          ) : (
            <span className="muted">This version is not deployed.</span>
          )}
        </Card>
      </div>
    </div>
  );
}

export function ModelVersionPage() {
  const { name, version: number } = useParams({ from: "/app/models/$name/versions/$version" });
  const navigate = useNavigate();
  usePageTitle(`${name} v${number}`, "Models");
  const wanted = number === "latest" ? "latest" : Number(number);
  const version = useQuery(modelVersionQuery(name, wanted));
  const model = useQuery(modelQuery(name));
  const versions = useQuery(modelVersionsQuery(name));
  const backends = [...new Set(version.data?.repo_models.map((item) => item.backend || item.platform) ?? [])];
  const problem = version.error ? toProblem(version.error) : null;
  return (
    <>
      <PageHeader
        title={name}
        subtitle={model.data?.description}
        beside={
          <>
            <Select
              aria-label="Version"
              w={118}
              value={version.data ? String(version.data.version) : null}
              data={(versions.data?.items ?? []).map((item) => ({ value: String(item.version), label: `version ${item.version}` }))}
              onChange={(value) => value && void navigate(paths.modelVersion(name, Number(value)))}
            />
            {backends.map((backend) => (
              <Chip key={backend} mono>
                {backend}
              </Chip>
            ))}
            {model.data?.archived ? <Chip tone="warn">archived</Chip> : null}
          </>
        }
        actions={model.data && version.data ? <VersionActions model={model.data} version={version.data.version} /> : null}
      />
      {problem?.status === 404 ? <EmptyState title={`${name} has no version ${number}`} /> : null}
      {problem && problem.status !== 404 ? (
        <ProblemCard error={problem} title="The version could not be loaded" onRetry={() => void version.refetch()} />
      ) : null}
      {version.isPending ? <SkeletonRows rows={8} label="Loading the version" /> : null}
      {version.data ? <Body key={version.data.version} version={version.data} /> : null}
    </>
  );
}

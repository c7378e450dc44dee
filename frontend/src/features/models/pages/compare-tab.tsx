/** Two versions side by side: what clients notice, which files differ, how the configurations differ. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { modelVersionQuery, modelVersionsQuery } from "@/api/models";
import type { ModelVersion } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { SkeletonRows } from "@/components/skeleton";
import { Status, type Tone, ToneIcon } from "@/components/status";
import { configOf, contractDifferences, fileDifferences, type Change, type FileDifference } from "../compare/version-difference";
import { usePaged } from "../components/pager";
import { useVersion } from "../hooks";
import classes from "../models.module.css";

const PbtxtEditor = lazy(() => import("@/components/pbtxt-editor/pbtxt-editor").then((module) => ({ default: module.PbtxtEditor })));

const WORDS: Record<Change, string> = { added: t`added`, removed: t`removed`, changed: t`changed`, same: t`same` };
const TONES: Record<Change, Tone> = { added: "ok", removed: "error", changed: "warn", same: "idle" };

const COLUMNS: Column<FileDifference>[] = [
  {
    id: "change",
    header: t({ message: "Change", context: "of a file" }),
    width: 110,
    cell: (row) => <Status plain state={WORDS[row.change]} tone={TONES[row.change]} />,
  },
  { id: "path", header: t`Path`, cell: (row) => <span className="mono">{row.path}</span> },
  { id: "before", header: t`Size before`, align: "right", hideBelow: "sm", cell: (row) => bytes(row.before?.size) },
  { id: "after", header: t`Size now`, align: "right", cell: (row) => bytes(row.after?.size) },
];

export function CompareTab() {
  const { name, version } = useVersion();
  const search: { with?: number } = useSearch({ strict: false });
  const navigate = useNavigate();
  const versions = useQuery(modelVersionsQuery(name));
  const others = (versions.data?.items ?? []).filter((one) => one.version !== version.version);
  // The one before is what people mean most often.
  const before = others.find((one) => one.version < version.version) ?? others[0];
  const wanted = search.with !== undefined && search.with !== version.version ? search.with : before?.version;
  const other = useQuery({ ...modelVersionQuery(name, wanted ?? 0), enabled: wanted !== undefined });
  if (versions.data && others.length === 0) {
    return (
      <Card>
        <EmptyState
          title={t`There is only one version`}
          detail={t`Upload another one under the same name to compare them.`}
          action={
            <RefusingLink needs="deploy" link={paths.deploy()} leftSection={<IconUpload size={15} />}>
              <Trans>Upload a version</Trans>
            </RefusingLink>
          }
        />
      </Card>
    );
  }
  return (
    <div className={classes["stack"]}>
      <Select
        label={t`Compare version ${version.version} with`}
        w={260}
        allowDeselect={false}
        value={wanted === undefined ? null : String(wanted)}
        data={others.map((one) => ({ value: String(one.version), label: t`version ${one.version}` }))}
        onChange={(value) => value && void navigate({ to: ".", search: { with: Number(value) }, replace: true })}
      />
      {other.error ? (
        <ProblemCard error={other.error} title={t`The other version could not be loaded`} onRetry={() => void other.refetch()} />
      ) : null}
      {other.data ? <Differences before={other.data} after={version} /> : null}
      {!other.data && !other.error ? <SkeletonRows rows={6} label={t`Loading the other version`} /> : null}
    </div>
  );
}

function Differences({ before, after }: { before: ModelVersion; after: ModelVersion }) {
  const names = [...new Set([...after.repo_models, ...before.repo_models].map((model) => model.name))];
  const differing = names.filter((model) => configOf(before, model) !== configOf(after, model));
  const [chosen, setChosen] = useState<string | null>(null);
  const model = chosen !== null && names.includes(chosen) ? chosen : (differing[0] ?? names[0] ?? "");
  const sentences = contractDifferences(before, after);
  const files = fileDifferences(before.manifest, after.manifest);
  const { rows, pager } = usePaged(files, t`Pages of files`);
  const changed = files.filter((file) => file.change !== "same").length;
  return (
    <>
      <Card title={t`What clients notice`} hint={t`as registered; edited configurations are below`}>
        <ul className={classes["warnings"]}>
          {sentences.length === 0 ? (
            <li>
              <ToneIcon tone="ok" label={t`The same`} />
              <span>
                <Trans>Inputs, outputs and batch sizes are the same: clients need no change.</Trans>
              </span>
            </li>
          ) : null}
          {sentences.map((sentence) => (
            <li key={sentence}>
              <ToneIcon tone="warn" label={t`Differs`} /> <span>{sentence}</span>
            </li>
          ))}
        </ul>
      </Card>
      <Card
        title={t`Configuration`}
        hint={t`version ${before.version} to version ${after.version}, latest revisions; ${differing.length} of ${names.length} differ`}
        actions={
          names.length > 1 ? (
            <Select
              aria-label={t`Configuration of`}
              w={220}
              searchable
              allowDeselect={false}
              value={model}
              data={names.map((one) => ({ value: one, label: differing.includes(one) ? t`${one} (differs)` : one }))}
              onChange={setChosen}
            />
          ) : undefined
        }
        flush
      >
        {configOf(before, model) === configOf(after, model) ? (
          <EmptyState title={t`The configurations are the same`} />
        ) : (
          <div className={classes["editor"]}>
            <Suspense fallback={<SkeletonRows rows={6} label={t`Loading the editor`} />}>
              <PbtxtEditor
                key={`${model} ${before.version} ${after.version}`}
                readOnly
                value={configOf(after, model)}
                original={configOf(before, model)}
                label={t`Changes of config.pbtxt of ${model}`}
              />
            </Suspense>
          </div>
        )}
      </Card>
      <Card title={t`Files`} hint={changed === 0 ? t`all the same` : t`${changed} of ${files.length} differ`} flush>
        <DataTable compact label={t`Files that differ`} columns={COLUMNS} rows={rows} rowKey={(row) => row.path} />
        {pager}
      </Card>
    </>
  );
}

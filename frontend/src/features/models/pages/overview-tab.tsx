/** One immutable version of a model: what it takes and gives, how it is built, what the checks say. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { repoModelConfigQuery, updateModel, updateVersion } from "@/api/models";
import type { ModelVersion, Tensor } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CopyButton } from "@/components/copy";
import { EmptyState } from "@/components/empty-state";
import { bytes } from "@/components/format";
import { Time } from "@/components/time";
import { ChecksCard } from "../components/checks-card";
import { EnsembleCard } from "../components/ensemble-card";
import { LineageCard } from "../components/lineage-card";
import { SignaturesCard } from "../components/signatures-card";
import { TensorTable } from "../components/tensor-table";
import { DetailsCard } from "../components/details-card";
import { useVersion } from "../hooks";
import { detailsRecipe } from "../recipes";
import { type Fact, Facts } from "../components/facts";
import classes from "../models.module.css";

function About({ version }: { version: ModelVersion }) {
  const facts: Fact[] = [
    [t`Type`, version.type],
    [
      version.lineage === null || version.lineage.kind === "stated" ? t`Uploaded file` : t`Imported file`,
      <span key="f" className="mono">
        {version.source_filename || "–"}
      </span>,
    ],
    [t`Size`, bytes(version.size)],
    [t`Registered`, <Time key="t" at={version.created_at} />],
    [t`By`, version.created_by],
    ...codeFacts(version),
    [
      t`Digest`,
      <span key="d" className={classes["hash"]}>
        <span className="mono truncate" title={version.digest}>
          {version.digest.replace(/^sha256:/, "").slice(0, 16)}
        </span>
        <CopyButton text={version.digest} label={t`digest`} />
      </span>,
    ],
  ];
  return (
    <Card title={t`About this version`}>
      <Facts facts={facts} />
    </Card>
  );
}

/** Why it runs code and who let it, where it does. */
function codeFacts({ code }: ModelVersion): Fact[] {
  if (code.state === "none") return [];
  const why = code.reasons.map((reason) => reason.message).join(" ");
  return [[t`Runs code`, code.approved_by ? t`${why} Approved by ${code.approved_by}.` : why]];
}

const LABELS_SHOWN = 200;

function Labels({ outputs }: { outputs: readonly Tensor[] }) {
  const labelled = outputs.filter((output) => output.labels && output.labels.length > 0);
  return labelled.map((output) => (
    <Card
      key={output.name}
      title={t`Labels of ${output.name}`}
      hint={plural(output.labels?.length ?? 0, { one: "# class", other: "# classes" })}
    >
      <ol className={classes["labels"]} start={0} tabIndex={0} aria-label={t`Labels of ${output.name}`}>
        {output.labels?.slice(0, LABELS_SHOWN).map((label, index) => (
          <li key={index}>{label}</li>
        ))}
      </ol>
      {(output.labels?.length ?? 0) > LABELS_SHOWN ? (
        <p className="secondary">
          <Trans>The first {LABELS_SHOWN}; the label file has all of them.</Trans>
        </p>
      ) : null}
    </Card>
  ));
}

export function OverviewTab() {
  const { name, model, version } = useVersion();
  const search: { of?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  // What clients call is the pipeline, where there is one.
  const shown =
    version.repo_models.find((one) => one.name === search.of) ??
    version.repo_models.find((one) => one.platform === "ensemble") ??
    version.repo_models[0];
  const revision = Math.max(0, ...version.config_revisions.map((one) => one.number));
  const config = useQuery({
    ...repoModelConfigQuery(name, version.version, shown?.name ?? "", revision),
    enabled: shown !== undefined,
  });
  if (!shown) {
    return (
      <Card>
        <EmptyState title={t`No model was found in this version`} />
      </Card>
    );
  }
  const batches = shown.max_batch_size > 0 ? t`batches of up to ${shown.max_batch_size}` : t`no batching`;
  return (
    <div className={classes["grid"]}>
      <div className={classes["stack"]}>
        {version.repo_models.length > 1 ? (
          <Select
            label={t`Model of the repository`}
            w={300}
            searchable
            allowDeselect={false}
            value={shown.name}
            data={version.repo_models.map((one) => one.name)}
            onChange={(of) => of && void navigate({ to: ".", search: { of }, replace: true })}
          />
        ) : null}
        <EnsembleCard version={version} of={shown.name} config={config.data?.config ?? null} />
        <Card
          title={t`Inputs`}
          hint={[shown.backend || shown.platform, batches, shown.decoupled ? t`answers several times` : null].filter(Boolean).join(", ")}
          flush
        >
          <TensorTable label={t`Inputs of ${shown.name}`} tensors={shown.inputs} maxBatchSize={shown.max_batch_size} />
        </Card>
        <Card title={t`Outputs`} flush>
          <TensorTable label={t`Outputs of ${shown.name}`} tensors={shown.outputs} maxBatchSize={shown.max_batch_size} labelled />
        </Card>
        <Labels outputs={shown.outputs} />
      </div>
      <div className={classes["stack"]}>
        <ChecksCard name={name} version={version.version} repoModel={shown.name} revision={revision} warnings={version.warnings} />
        <About version={version} />
        <LineageCard version={version} />
        <SignaturesCard name={name} version={version.version} revision={revision} />
        <DetailsCard
          title={t`Description of this version`}
          of={version}
          save={(words, seen) => updateVersion(name, version.version, words, seen)}
          recipe={(words) => detailsRecipe(name, version.version, words)}
        />
        <DetailsCard
          title={t`Description of ${name}, all versions`}
          of={model}
          save={(words, seen) => updateModel(name, words, seen)}
          recipe={(words) => detailsRecipe(name, null, words)}
        />
        <Card title={t`Deployed on`}>
          {version.used_by.length > 0 ? (
            <ul className={classes["uses"]}>
              {version.used_by.map((endpoint) => (
                <li key={endpoint}>
                  <Link {...paths.endpoint(endpoint)} className="link">
                    {endpoint}
                  </Link>
                </li>
              ))}
            </ul>
          ) : (
            <span className="muted">
              <Trans>This version is not deployed.</Trans>
            </span>
          )}
        </Card>
      </div>
    </div>
  );
}

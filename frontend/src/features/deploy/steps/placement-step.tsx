/** Step 4: how many replicas, on what kind of machine, and where they would go as things are now. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { instanceTypesQuery, type InstanceType, type PlacementAsk, type PlacementPreview, placementPagesQuery } from "@/api/placement";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { bytes } from "@/components/format";
import { badLabel, labelsOf, labelText } from "@/components/labels";
import { ListFilter } from "@/components/list-filter";
import { ProblemCard } from "@/components/problem-card";
import { ShowMore } from "@/components/show-more";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { readConfig } from "../config/config-fields";
import { instancesIn, nodeCards } from "../config/placement-view";
import type { DeploySource } from "../config/source";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { Footer } from "./footer";
import { NodeCards } from "./node-cards";

export interface PlacementStepProps {
  source: DeploySource;
  form: DraftForm;
  onForm: (part: Partial<DraftForm>) => void;
  onBack: () => void;
  onForward: () => void;
}

const ANY = "any";

function askOf(source: DeploySource, form: DraftForm): PlacementAsk {
  return {
    ...(source.registered
      ? { model: source.registered.model, version: String(source.registered.version) }
      : { upload_id: source.uploadId ?? "" }),
    instance_count: form.instanceCount,
    instance_type: form.instanceType,
    anti_affinity: form.antiAffinity,
    node_labels: form.nodeLabels,
  };
}

export function PlacementStep({ source, form, onForm, onBack, onForward }: PlacementStepProps) {
  const [q, setQ] = useState("");
  // why kept: what is debounced is told apart by identity, and a new one each time would be drawn for ever
  const typed = useMemo(() => ({ ...askOf(source, form), q: q.trim() }), [source, form, q]);
  const [ask] = useDebouncedValue(typed, 200);
  const preview = useInfiniteQuery(placementPagesQuery(ask));
  const texts = useMemo(() => form.texts.map((text) => readConfig(text).fields), [form.texts]);
  // Half a label is no label: the text is kept as it is typed.
  const [labels, setLabels] = useState(() => labelText(form.nodeLabels));
  const typeLabels = (text: string) => {
    setLabels(text);
    if (badLabel(text) === null) onForm({ nodeLabels: labelsOf(text) });
  };
  const pages = preview.data?.pages ?? [];
  const found = pages[0]?.preview;
  const cards = found ? nodeCards(pages, texts) : null;
  const fits = found !== undefined && found.placeable >= found.instance_count;
  // why: while the nodes are asked anew, what is shown is of what was wanted before
  const asking = ask !== typed || preview.isPlaceholderData;
  const lacking = found ? found.instance_count - found.placeable : 0;
  return (
    <>
      <div className={`${classes["columns"]} ${classes["wideRight"]}`}>
        <div className={classes["stack"]}>
          <Card flush>
            <ReplicasSection form={form} onForm={onForm} perReplica={instancesIn(texts)} />
            <MachineSection form={form} onForm={onForm} labels={labels} onLabels={typeLabels} />
            {found ? <EstimateSection estimate={found.estimate} /> : null}
          </Card>
        </div>
        <div className={classes["stack"]}>
          {preview.error ? (
            <ProblemCard error={preview.error} title={t`It cannot be told where it would run`} onRetry={() => void preview.refetch()} />
          ) : null}
          {cards === null ? (
            preview.error ? null : (
              <SkeletonRows rows={6} label={t`Asking the nodes`} />
            )
          ) : cards.length === 0 && !ask.q ? (
            <Card title={t`No node has joined yet`}>
              <p style={{ margin: 0 }}>
                <Trans>
                  Models run on nodes.{" "}
                  <Link {...paths.joinNode()} className="link">
                    Join one
                  </Link>
                  , and it appears here.
                </Trans>
              </p>
            </Card>
          ) : (
            <>
              {found && (preview.hasNextPage || pages.length > 1 || ask.q) ? (
                <div className={toolbar["toolbar"]}>
                  <ListFilter label={t`Filter nodes`} value={q} onChange={setQ} />
                  <span className="secondary" role="status">
                    <Trans>
                      {cards.length} of {plural(found.matching, { one: "# node", other: "# nodes" })}, the best first
                    </Trans>
                    {"; "}
                    {plural(found.fitting, { one: "# could take a replica", other: "# could take a replica" })}
                  </span>
                </div>
              ) : null}
              <NodeCards cards={cards} />
              <ShowMore
                hasNextPage={preview.hasNextPage}
                isFetchingNextPage={preview.isFetchingNextPage}
                fetchNextPage={preview.fetchNextPage}
              />
            </>
          )}
          {found && !fits ? (
            <div className={classes["refusal"]} style={{ borderLeftColor: "var(--warn)" }} role="alert">
              <ToneIcon tone="warn" label={t`Does not fit`} />
              <div className={classes["stack"]} style={{ gap: 6 }}>
                <span>
                  {lacking === found.instance_count ? t`No node can take it now.` : lackText(lacking, found.instance_count)}{" "}
                  <Trans>Deployed anyway, it waits a moment for one and then fails.</Trans>
                </span>
                <Switch
                  label={t`Try anyway`}
                  checked={form.tryAnyway}
                  onChange={(event) => onForm({ tryAnyway: event.currentTarget.checked })}
                />
              </div>
            </div>
          ) : null}
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={
          found === undefined || asking
            ? t`Asking the nodes`
            : fits
              ? plural(found.instance_count, { one: "# replica fits", other: "# replicas fit" })
              : lackShort(lacking, found.instance_count)
        }
        tone={found && !asking && !fits ? "error" : undefined}
        forward={t`Continue to deployment`}
        onForward={onForward}
        blocked={asking || (!fits && !form.tryAnyway) || badLabel(labels) !== null}
      />
    </>
  );
}

const lackText = (lacking: number, all: number): string =>
  plural(lacking, { one: `# of ${all} replicas has no node now.`, other: `# of ${all} replicas have no node now.` });
const lackShort = (lacking: number, all: number): string =>
  plural(lacking, { one: `# of ${all} does not fit`, other: `# of ${all} do not fit` });

type Part = Pick<PlacementStepProps, "form" | "onForm">;

function ReplicasSection({ form, onForm, perReplica }: Part & { perReplica: number }) {
  const total = perReplica * form.instanceCount;
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>
          <Trans>Replicas</Trans>
        </h2>
        <span className="secondary">
          <Trans>each is a process of its own</Trans>
        </span>
      </div>
      <div className={classes["fields"]}>
        <NumberInput
          label={t`Replicas`}
          value={form.instanceCount}
          min={1}
          max={64}
          allowDecimal={false}
          onChange={(value) => {
            if (typeof value === "number" && value >= 1) onForm({ instanceCount: value });
          }}
        />
        <div className={classes["field"]}>
          <span className={classes["fieldLabel"]}>
            <Trans>Over the nodes</Trans>
          </span>
          <SegmentedControl
            aria-label={t`Over the nodes`}
            style={{ justifySelf: "start" }}
            value={form.antiAffinity}
            onChange={(value) => onForm({ antiAffinity: value === "required" ? "required" : "preferred" })}
            data={[
              { value: "preferred", label: t`Spread` },
              { value: "required", label: t`One per node` },
            ]}
          />
        </div>
      </div>
      <p className={classes["note"]}>
        {perReplica === 0 ? null : (
          <>
            <Trans>
              {plural(perReplica, { one: "# instance", other: "# instances" })} in each replica, <strong>{total} in total</strong>.
            </Trans>{" "}
          </>
        )}
        {form.antiAffinity === "preferred"
          ? t`Different nodes while there are any; then several on one.`
          : t`Never two replicas on one node.`}
      </p>
    </div>
  );
}

function MachineSection({ form, onForm, labels, onLabels }: Part & { labels: string; onLabels: (text: string) => void }) {
  const types = useQuery(instanceTypesQuery());
  const chosen = types.data?.items.find((type) => type.name === form.instanceType);
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>
          <Trans>Machine</Trans>
        </h2>
        <span className="secondary">
          <Trans>what one replica asks for</Trans>
        </span>
      </div>
      <Select
        label={t`Instance type`}
        data={[
          { value: ANY, label: t`Any node, GPUs as they come` },
          ...(types.data?.items ?? []).map((type) => ({ value: type.name, label: `${type.name}: ${typeWords(type)}` })),
        ]}
        value={form.instanceType || ANY}
        onChange={(value) => onForm({ instanceType: value === ANY || value === null ? "" : value })}
        error={types.error ? t`The instance types could not be read.` : undefined}
      />
      <p className={classes["note"]}>{chosen ? chosen.description || typeWords(chosen) : t`Nothing is asked of the machine.`}</p>
      <NodeLabels text={labels} onText={onLabels} />
    </div>
  );
}

function EstimateSection({ estimate }: { estimate: PlacementPreview["estimate"] }) {
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>
          <Trans>Estimate for one replica</Trans>
        </h2>
      </div>
      <dl className={classes["facts"]}>
        <dt>
          <Trans context="bytes">Download</Trans>
        </dt>
        <dd>{bytes(estimate.download_bytes)}</dd>
        <dt>
          <Trans>GPU memory</Trans>
        </dt>
        <dd>{estimate.gpu_count === 0 ? t`not asked for` : t`${bytes(estimate.gpu_memory_bytes)} on each of ${estimate.gpu_count}`}</dd>
      </dl>
    </div>
  );
}

function NodeLabels({ text, onText }: { text: string; onText: (text: string) => void }) {
  const bad = badLabel(text);
  return (
    <TextInput
      label={t`Only on nodes with`}
      placeholder="zone=a, disk=fast"
      classNames={{ input: "mono" }}
      mt={10}
      value={text}
      onChange={(event) => onText(event.currentTarget.value)}
      error={bad === null ? undefined : t`"${bad}" is no label: write key=value.`}
    />
  );
}

function typeWords(type: InstanceType): string {
  const [some, memory] = [`${type.gpu_count} ${type.gpu_model || "GPU"}`, bytes(type.gpu_memory_bytes)];
  const gpus = type.gpu_count === 0 ? t`processors` : type.gpu_memory_bytes > 0 ? t`${some} with ${memory}` : some;
  const machine = [
    type.cpu_count > 0 ? plural(type.cpu_count, { one: "# core", other: "# cores" }) : "",
    type.memory_bytes > 0 ? t`${bytes(type.memory_bytes)} of memory` : "",
  ];
  return [gpus, ...machine].filter(Boolean).join(", ");
}

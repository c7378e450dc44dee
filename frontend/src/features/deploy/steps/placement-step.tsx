/** Step 4: how many replicas, on what kind of machine, and where they would go as things are now. */
import { NumberInput, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { nodesQuery } from "@/api/nodes";
import { instanceTypesQuery, type InstanceType, type PlacementAsk, type PlacementPreview, placementPreviewQuery } from "@/api/placement";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { bytes, counted } from "@/components/format";
import { badLabel, labelsOf, labelText } from "@/components/labels";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
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
  const [ask] = useDebouncedValue(askOf(source, form), 200);
  const preview = useQuery({ ...placementPreviewQuery(ask), placeholderData: keepPreviousData });
  const nodes = useQuery(nodesQuery());
  const texts = useMemo(() => form.texts.map((text) => readConfig(text).fields), [form.texts]);
  // Half a label is no label: the text is kept as it is typed.
  const [labels, setLabels] = useState(() => labelText(form.nodeLabels));
  const typeLabels = (text: string) => {
    setLabels(text);
    if (badLabel(text) === null) onForm({ nodeLabels: labelsOf(text) });
  };
  const found = preview.data;
  const cards = found && nodes.data ? nodeCards(found, nodes.data.items, texts) : null;
  const fits = found !== undefined && found.placeable >= found.instance_count;
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
            <ProblemCard error={preview.error} title="It cannot be told where it would run" onRetry={() => void preview.refetch()} />
          ) : null}
          {nodes.error ? (
            <ProblemCard error={nodes.error} title="The nodes could not be read" onRetry={() => void nodes.refetch()} />
          ) : null}
          {cards === null ? (
            preview.error || nodes.error ? null : (
              <SkeletonRows rows={6} label="Asking the nodes" />
            )
          ) : cards.length === 0 ? (
            <Card title="No node has joined yet">
              <p style={{ margin: 0 }}>
                Models run on nodes.{" "}
                <Link {...paths.joinNode()} className="link">
                  Join one
                </Link>
                , and it appears here.
              </p>
            </Card>
          ) : (
            <NodeCards cards={cards} />
          )}
          {found && !fits ? (
            <div className={classes["refusal"]} style={{ borderLeftColor: "var(--warn)" }} role="alert">
              <ToneIcon tone="warn" label="Does not fit" />
              <div className={classes["stack"]} style={{ gap: 6 }}>
                <span>
                  {lacking === found.instance_count
                    ? "No node can take it now."
                    : `${lacking} of ${found.instance_count} replicas have no node now.`}{" "}
                  Deployed anyway, it waits a moment for one and then fails.
                </span>
                <Switch
                  label="Try anyway"
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
          found === undefined
            ? "Asking the nodes"
            : fits
              ? `${found.instance_count === 1 ? "1 replica fits" : `${found.instance_count} replicas fit`}`
              : `${lacking} of ${found.instance_count} do not fit`
        }
        tone={found && !fits ? "error" : undefined}
        forward="Continue to deployment"
        onForward={onForward}
        blocked={(!fits && !form.tryAnyway) || badLabel(labels) !== null}
      />
    </>
  );
}

type Part = Pick<PlacementStepProps, "form" | "onForm">;

function ReplicasSection({ form, onForm, perReplica }: Part & { perReplica: number }) {
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>Replicas</h2>
        <span className="secondary">each is a process of its own</span>
      </div>
      <div className={classes["fields"]}>
        <NumberInput
          label="Replicas"
          value={form.instanceCount}
          min={1}
          max={64}
          allowDecimal={false}
          onChange={(value) => {
            if (typeof value === "number" && value >= 1) onForm({ instanceCount: value });
          }}
        />
        <div className={classes["field"]}>
          <span className={classes["fieldLabel"]}>Over the nodes</span>
          <SegmentedControl
            aria-label="Over the nodes"
            style={{ justifySelf: "start" }}
            value={form.antiAffinity}
            onChange={(value) => onForm({ antiAffinity: value === "required" ? "required" : "preferred" })}
            data={[
              { value: "preferred", label: "Spread" },
              { value: "required", label: "One per node" },
            ]}
          />
        </div>
      </div>
      <p className={classes["note"]}>
        {perReplica === 0 ? null : (
          <>
            {perReplica} {perReplica === 1 ? "instance" : "instances"} in each replica,{" "}
            <strong>{perReplica * form.instanceCount} in total</strong>.{" "}
          </>
        )}
        {form.antiAffinity === "preferred"
          ? "Different nodes while there are any; then several on one."
          : "Never two replicas on one node."}
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
        <h2>Machine</h2>
        <span className="secondary">what one replica asks for</span>
      </div>
      <Select
        label="Instance type"
        data={[
          { value: ANY, label: "Any node, GPUs as they come" },
          ...(types.data?.items ?? []).map((type) => ({ value: type.name, label: `${type.name}: ${typeWords(type)}` })),
        ]}
        value={form.instanceType || ANY}
        onChange={(value) => onForm({ instanceType: value === ANY || value === null ? "" : value })}
        error={types.error ? "The instance types could not be read." : undefined}
      />
      <p className={classes["note"]}>{chosen ? chosen.description || typeWords(chosen) : "Nothing is asked of the machine."}</p>
      <NodeLabels text={labels} onText={onLabels} />
    </div>
  );
}

function EstimateSection({ estimate }: { estimate: PlacementPreview["estimate"] }) {
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>Estimate for one replica</h2>
      </div>
      <dl className={classes["facts"]}>
        <dt>Download</dt>
        <dd>{bytes(estimate.download_bytes)}</dd>
        <dt>GPU memory</dt>
        <dd>{estimate.gpu_count === 0 ? "not asked for" : `${bytes(estimate.gpu_memory_bytes)} on each of ${estimate.gpu_count}`}</dd>
      </dl>
    </div>
  );
}

function NodeLabels({ text, onText }: { text: string; onText: (text: string) => void }) {
  const bad = badLabel(text);
  return (
    <TextInput
      label="Only on nodes with"
      placeholder="zone=a, disk=fast"
      classNames={{ input: "mono" }}
      mt={10}
      value={text}
      onChange={(event) => onText(event.currentTarget.value)}
      error={bad === null ? undefined : `"${bad}" is no label: write key=value.`}
    />
  );
}

function typeWords(type: InstanceType): string {
  const gpus =
    type.gpu_count === 0
      ? "processors"
      : `${type.gpu_count} ${type.gpu_model || "GPU"}${type.gpu_memory_bytes > 0 ? ` with ${bytes(type.gpu_memory_bytes)}` : ""}`;
  const machine = [
    type.cpu_count > 0 ? counted(type.cpu_count, "core") : "",
    type.memory_bytes > 0 ? `${bytes(type.memory_bytes)} of memory` : "",
  ];
  return [gpus, ...machine].filter(Boolean).join(", ");
}

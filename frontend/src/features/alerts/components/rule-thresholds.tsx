/** Who has a threshold of their own, before that of the installation: projects, endpoints, nodes. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, NumberInput, Select } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { removeAlertThreshold, setAlertThreshold } from "@/api/alerts";
import { endpointsQuery } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { nodesQuery } from "@/api/nodes";
import { projectsQuery } from "@/api/projects";
import type { AlertRule, AlertThreshold, Permission, ThresholdKind } from "@/api/types";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { OvertakenNote, useSaving } from "@/components/saving";
import { currentLanguage } from "@/i18n/language";
import { serverText } from "@/i18n/server-text";
import classes from "../alerts.module.css";

const GROUPS: Record<ThresholdKind, string> = { project: t`Projects`, endpoint: t`Endpoints`, node: t`Nodes` };

const kindOf = (about: string): string => about.split("/", 1)[0] ?? "";
const nameOf = (about: string): string => about.slice(kindOf(about).length + 1);

function aboutText(about: string): string {
  const name = nameOf(about);
  return { project: t`project ${name}`, endpoint: t`endpoint ${name}`, node: t`node ${name}` }[kindOf(about)] ?? about;
}

/** Nodes are the installation's. */
const needsOf = (kinds: readonly string[]): Permission => (kinds.includes("node") ? "operate" : "deploy");

const FIGURE = new Intl.NumberFormat(currentLanguage(), { maximumSignificantDigits: 6 });
const figure = (value: number, unit: string): string => `${FIGURE.format(value)} ${serverText(unit)}`;

function ThresholdRow({ own }: { own: AlertThreshold }) {
  const client = useQueryClient();
  const what = aboutText(own.about);
  const saving = useSaving({ thing: own, part: ({ threshold }): number | string => threshold ?? "", shownBy: keys.alerts.rules });
  const { draft } = saving;
  const done = async (text: string) => {
    await client.invalidateQueries({ queryKey: keys.alerts.rules });
    notifyDone(text);
  };
  const remove = useMutation({
    mutationFn: () => removeAlertThreshold(own),
    onSuccess: () => done(t`${what}: as in the whole installation`),
    onError: () => client.invalidateQueries({ queryKey: keys.alerts.rules }),
  });
  const error = saving.error ?? remove.error;
  const needs = needsOf([kindOf(own.about)]);
  return (
    <li>
      <form
        className={classes["own"]}
        aria-label={what}
        onSubmit={(event) => {
          event.preventDefault();
          saving.send(async (threshold, seen) => {
            await setAlertThreshold(seen, Number(threshold));
            await done(t`${what}: changed`);
          });
        }}
      >
        <NumberInput
          label={what}
          description={t`${figure(own.effective, own.unit)}; installation: ${figure(own.installation, own.unit)}`}
          clampBehavior="none"
          value={draft}
          onChange={saving.edit}
        />
        <div className={classes["buttons"]}>
          <RefusingButton
            type="submit"
            needs={needs}
            variant="default"
            disabled={!saving.changed || draft === "" || saving.overtaken !== null}
            loading={saving.pending}
          >
            <Trans>Save</Trans>
          </RefusingButton>
          <RefusingButton
            needs={needs}
            variant="default"
            aria-label={t`Remove the threshold of ${what}`}
            loading={remove.isPending}
            onClick={() => remove.mutate()}
          >
            <Trans>Remove</Trans>
          </RefusingButton>
        </div>
      </form>
      <OvertakenNote
        saving={saving}
        now={(current) => (current.threshold === null ? t`It has none of its own any more.` : figure(current.threshold, current.unit))}
      />
      {error ? <ProblemCard error={error} title={t`The threshold was not changed`} /> : null}
    </li>
  );
}

function NewThreshold({ rule, onDone }: { rule: AlertRule; onDone: () => void }) {
  const client = useQueryClient();
  const [about, setAbout] = useState<string | null>(null);
  const [threshold, setThreshold] = useState<number | string>(rule.threshold ?? "");
  const has = (kind: ThresholdKind) => rule.kinds.includes(kind);
  const projects = useQuery({ ...projectsQuery(), enabled: has("project") });
  const endpoints = useQuery({ ...endpointsQuery(), enabled: has("endpoint") });
  const nodes = useQuery({ ...nodesQuery(), enabled: has("node") });
  const found = { project: projects, endpoint: endpoints, node: nodes };
  const taken = rule.thresholds.map((one) => one.about);
  const data = rule.kinds.map((kind) => ({
    group: GROUPS[kind],
    items: (found[kind].data?.items ?? [])
      .map(({ name }) => ({ value: `${kind}/${name}`, label: name }))
      .filter(({ value }) => !taken.includes(value)),
  }));
  const add = useMutation({
    mutationFn: (of: string) => setAlertThreshold({ rule: rule.name, about: of }, Number(threshold)),
    onSuccess: async (now) => {
      await client.invalidateQueries({ queryKey: keys.alerts.rules });
      const what = aboutText(now.about);
      notifyDone(t`${what} has a threshold of its own`);
      onDone();
    },
  });
  return (
    <form
      aria-label={t`A threshold of its own`}
      onSubmit={(event) => {
        event.preventDefault();
        if (about !== null && threshold !== "") add.mutate(about);
      }}
    >
      <div className={classes["own"]}>
        <Select label={t`For`} searchable data={data} value={about} onChange={setAbout} nothingFoundMessage={t`Nothing is called so`} />
        <NumberInput label={t`Threshold`} clampBehavior="none" value={threshold} onChange={setThreshold} />
        <div className={classes["buttons"]}>
          <Button type="submit" disabled={about === null || threshold === ""} loading={add.isPending}>
            <Trans>Set it</Trans>
          </Button>
          <Button variant="default" onClick={onDone}>
            <Trans>Cancel</Trans>
          </Button>
        </div>
      </div>
      {add.error ? <ProblemCard error={add.error} title={t`The threshold was not set`} /> : null}
    </form>
  );
}

export function RuleThresholds({ rule }: { rule: AlertRule }) {
  const [adding, setAdding] = useState(false);
  if (rule.kinds.length === 0) return null;
  return (
    <section aria-label={t`Thresholds of their own`}>
      <h3 className={classes["steps"]}>
        <Trans>Thresholds of their own</Trans>
      </h3>
      <p className="muted">
        {rule.kinds.includes("node")
          ? t`A node's own counts before that of the installation.`
          : t`An endpoint's own counts before its project's, and that before the installation's.`}
      </p>
      <ul className={classes["owns"]}>
        {rule.thresholds.map((own) => (
          <ThresholdRow key={own.about} own={own} />
        ))}
      </ul>
      {adding ? (
        <NewThreshold rule={rule} onDone={() => setAdding(false)} />
      ) : (
        <RefusingButton needs={needsOf(rule.kinds)} variant="default" onClick={() => setAdding(true)}>
          <Trans>Set one…</Trans>
        </RefusingButton>
      )}
    </section>
  );
}

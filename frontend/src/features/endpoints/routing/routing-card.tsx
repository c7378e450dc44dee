/** Who gets a request before the shares have a say: rules by header, and clients that stay with one deployment. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, NumberInput, Select, TextInput } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { setRouting } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { OvertakenNote, useSaving, Values } from "@/components/saving";
import { routingRecipe } from "../recipes";
import { bodyOf, BY, draftOf, KINDS, MOST_RULES, moved, type RoutingDraft, type RuleDraft, ruleText, sameDraft } from "./routing";
import classes from "./routing-card.module.css";

interface RuleRowProps {
  rule: RuleDraft;
  place: number;
  last: boolean;
  names: readonly string[];
  disabled: boolean;
  onChange: (change: Partial<RuleDraft>) => void;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

function RuleRow({ rule, place, last, names, disabled, onChange, onMove, onRemove }: RuleRowProps) {
  const shared = { variant: "subtle", color: "gray" } as const;
  return (
    <li className={classes["rule"]} aria-label={t`Rule ${place}`}>
      <TextInput
        aria-label={t`Header`}
        placeholder="x-group"
        classNames={{ input: "mono" }}
        spellCheck={false}
        disabled={disabled}
        value={rule.header}
        onChange={(event) => onChange({ header: event.currentTarget.value })}
      />
      <Select
        aria-label={t`How it is compared`}
        data={[...KINDS]}
        allowDeselect={false}
        disabled={disabled}
        value={rule.kind}
        onChange={(value) => onChange({ kind: KINDS.find((one) => one.value === value)?.value ?? "exact" })}
      />
      <TextInput
        aria-label={t`Value`}
        placeholder={rule.kind === "present" ? t`whatever it says` : "testers"}
        classNames={{ input: "mono" }}
        spellCheck={false}
        disabled={disabled || rule.kind === "present"}
        value={rule.kind === "present" ? "" : rule.value}
        onChange={(event) => onChange({ value: event.currentTarget.value })}
      />
      <Select
        aria-label={t`Deployment that answers`}
        data={[...names]}
        allowDeselect={false}
        disabled={disabled}
        value={rule.deployment}
        onChange={(value) => onChange({ deployment: value ?? "" })}
      />
      <span className={classes["moves"]}>
        <ActionIcon {...shared} aria-label={t`Rule ${place}: ask earlier`} disabled={disabled || place === 1} onClick={() => onMove(-1)}>
          <IconArrowUp size={16} aria-hidden />
        </ActionIcon>
        <ActionIcon {...shared} aria-label={t`Rule ${place}: ask later`} disabled={disabled || last} onClick={() => onMove(1)}>
          <IconArrowDown size={16} aria-hidden />
        </ActionIcon>
        <ActionIcon {...shared} aria-label={t`Remove rule ${place}`} disabled={disabled} onClick={onRemove}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      </span>
    </li>
  );
}

function StickyFields({ draft, disabled, set }: { draft: RoutingDraft; disabled: boolean; set: (change: Partial<RoutingDraft>) => void }) {
  return (
    <div className={classes["sticky"]}>
      <Select
        label={t`Clients are told apart by`}
        description={t`The same client stays with one deployment.`}
        data={[...BY]}
        allowDeselect={false}
        disabled={disabled}
        value={draft.by}
        onChange={(value) => set({ by: BY.find((one) => one.value === value)?.value ?? "none" })}
      />
      {draft.by === "none" ? null : (
        <TextInput
          label={draft.by === "header" ? t`Name of the header` : t`Name of the cookie`}
          description={draft.by === "header" ? t`Requests without it are drawn.` : t`Who brings none is given one.`}
          placeholder={draft.by === "header" ? "x-user-id" : "arm"}
          classNames={{ input: "mono" }}
          spellCheck={false}
          disabled={disabled}
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
      )}
      {draft.by === "cookie" ? (
        <NumberInput
          label={t`Lifetime of the cookie`}
          description={t`Empty: a day.`}
          suffix=" s"
          allowDecimal={false}
          allowNegative={false}
          clampBehavior="none"
          hideControls
          {...DIGIT_GROUPS}
          disabled={disabled}
          value={draft.maxAge}
          onChange={(value) => set({ maxAge: typeof value === "number" ? value : "" })}
        />
      ) : null}
    </div>
  );
}

/** What they are, in few words. */
function Shown({ routing }: { routing: RoutingDraft }) {
  const { rules, by, name } = routing;
  const told = BY.find((one) => one.value === by)?.label ?? by;
  return (
    <Values
      of={[
        [t`Rules, the first that fits`, rules.map(ruleText).join("\n") || t`none`],
        [t`Clients are told apart by`, name ? `${told}, ${name}` : told],
      ]}
    />
  );
}

export function RoutingCard({ endpoint }: { endpoint: Endpoint }) {
  const queryClient = useQueryClient();
  const disabled = useRefusal("deploy") !== undefined;
  const fresh = useId();
  const [added, setAdded] = useState(0);
  const shownBy = keys.endpoints.one(endpoint.name);
  const saving = useSaving({ thing: endpoint, part: draftOf, same: sameDraft, shownBy });
  const draft = saving.draft;
  const set = (change: Partial<RoutingDraft>) => saving.edit({ ...draft, ...change });
  const save = async (rules: RoutingDraft, { etag }: Endpoint) => {
    queryClient.setQueryData(shownBy, await setRouting(endpoint.name, bodyOf(rules), etag));
    notifyDone(t`The rules are saved; gateways act on them within seconds`);
  };
  const names = endpoint.deployments.map((one) => one.name);
  const rules = draft.rules;
  const add = () => {
    setAdded(added + 1);
    set({ rules: [...rules, { id: `${fresh}-${added}`, header: "", kind: "exact", value: "", deployment: names[0] ?? "" }] });
  };
  return (
    <Card
      title={t`Rules and sticky clients`}
      hint={t`who gets a request before the shares have a say`}
      actions={<AsCodeButton recipe={() => routingRecipe(endpoint.name, draft)} />}
    >
      <form
        className={classes["form"]}
        aria-label={t`Rules and sticky clients`}
        onSubmit={(event) => {
          event.preventDefault();
          saving.send(save);
        }}
      >
        {rules.length > 0 ? (
          <ol className={classes["rules"]} aria-label={t`Rules, the first that fits`}>
            {rules.map((rule, index) => (
              <RuleRow
                key={rule.id}
                rule={rule}
                place={index + 1}
                last={index === rules.length - 1}
                names={names}
                disabled={disabled}
                onChange={(change) => set({ rules: rules.map((one) => (one.id === rule.id ? { ...one, ...change } : one)) })}
                onMove={(by) => set({ rules: moved(rules, rule.id, by) })}
                onRemove={() => set({ rules: rules.filter((one) => one.id !== rule.id) })}
              />
            ))}
          </ol>
        ) : (
          <p className="secondary">
            <Trans>No rules: the shares alone decide. A rule sends requests with a header to one deployment.</Trans>
          </p>
        )}
        <div>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={15} aria-hidden />}
            disabled={disabled || rules.length >= MOST_RULES}
            onClick={add}
          >
            <Trans>Add a rule</Trans>
          </Button>
        </div>
        <StickyFields draft={draft} disabled={disabled} set={set} />
        <OvertakenNote saving={saving} now={(current) => <Shown routing={draftOf(current)} />} />
        {saving.error ? <ProblemCard error={saving.error} title={t`The rules could not be saved`} /> : null}
        <div className={classes["actions"]}>
          <RefusingButton type="submit" needs="deploy" disabled={!saving.changed || saving.overtaken !== null} loading={saving.pending}>
            <Trans>Save the rules</Trans>
          </RefusingButton>
        </div>
      </form>
    </Card>
  );
}

/** Moving traffic: a slider for two deployments, numbers for more; applied on confirmation, then watched. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Slider } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { endpointQuery, setTraffic } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { sendOver, wasOvertaken } from "@/api/problem";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { NumberField } from "@/components/number-field";
import { RoleNote } from "@/components/role-note";
import { trafficRecipe } from "../recipes";
import { type Edit, isValid, PRESET_SHARES, sameSplit, type Split, splitText, standing, total, withShare } from "../traffic";
import { TrafficConflict } from "./traffic-conflict";
import { TrafficPreview } from "./traffic-preview";
import classes from "./traffic-control.module.css";
import { stateWord } from "@/components/state-words";

export interface TrafficControl {
  names: string[];
  draft: Split;
  changed: boolean;
  valid: boolean;
  setDraft: (split: Split) => void;
  apply: () => void;
  reset: () => void;
  /** Whether the confirmation is open. */
  asking: boolean;
  dialog: React.ReactNode;
  /** Says who moved the traffic while it was edited here, and asks whose shares count; nothing without an edit. */
  conflict: React.ReactNode;
}

/** A share that another page proposes: it is asked about as soon as this one is shown. */
export interface Offer {
  give: string;
  share: number;
}

export function useTrafficControl(
  endpoint: Endpoint,
  { onApplied, offer }: { onApplied?: () => void; offer?: Offer | undefined } = {},
): TrafficControl {
  const queryClient = useQueryClient();
  const names = useMemo(() => endpoint.deployments.map((deployment) => deployment.name), [endpoint.deployments]);
  const now = useMemo<Split>(() => Object.fromEntries(names.map((name) => [name, endpoint.traffic[name] ?? 0])), [names, endpoint.traffic]);
  const [edit, setEdit] = useState<Edit | null>(() =>
    offer && names.includes(offer.give) ? { seen: now, draft: withShare(now, offer.give, offer.share) } : null,
  );
  const [asking, setAsking] = useState(edit !== null && !sameSplit(edit.draft, now));
  const { draft, overtaken } = standing(edit, now);
  const show = (shown: Endpoint) => queryClient.setQueryData(keys.endpoints.one(endpoint.name), shown);
  const mutation = useMutation({
    mutationFn: async (split: Split) => {
      const send = ({ etag }: Endpoint) => setTraffic(endpoint.name, split, etag);
      const untouched = (current: Endpoint) => sameSplit(current.traffic, now);
      try {
        return await sendOver(endpoint, send, untouched);
      } catch (problem) {
        if (wasOvertaken(problem)) await queryClient.fetchQuery({ ...endpointQuery(endpoint.name), staleTime: 0 });
        throw problem;
      }
    },
    onSuccess: (updated) => {
      setEdit(null);
      show(updated);
    },
  });
  const notReady = endpoint.deployments.filter(
    (deployment) => (draft[deployment.name] ?? 0) > 0 && !["Healthy", "Idle"].includes(deployment.serving_state),
  );
  const unwell = notReady.map((deployment) => `${deployment.name} (${stateWord(deployment.serving_state)})`).join(", ");
  const confirm = async () => {
    await mutation.mutateAsync(draft);
    onApplied?.();
  };
  const conflict =
    overtaken && edit ? (
      <TrafficConflict
        endpoint={endpoint.name}
        names={names}
        seen={edit.seen}
        now={now}
        mine={draft}
        onTake={() => {
          setEdit(null);
          setAsking(false);
        }}
        onKeep={() => setEdit({ seen: now, draft })}
      />
    ) : null;
  return {
    names,
    draft,
    changed: !sameSplit(draft, now),
    valid: isValid(draft),
    setDraft: (split) => setEdit({ seen: edit?.seen ?? now, draft: split }),
    apply: () => setAsking(true),
    reset: () => setEdit(null),
    asking,
    conflict,
    dialog: (
      <ConfirmModal
        opened={asking}
        onClose={() => setAsking(false)}
        title={t`Move traffic`}
        confirmLabel={notReady.length > 0 ? t`Apply ${splitText(draft, names)} all the same` : t`Apply ${splitText(draft, names)}`}
        danger={notReady.length > 0 || total(draft) === 0}
        blocked={overtaken}
        onConfirm={confirm}
      >
        {conflict ?? <TrafficPreview endpoint={endpoint.name} names={names} before={now} after={draft} shown={asking} />}
        {notReady.length > 0 ? (
          <p role="alert" className={classes["guard"]}>
            <Trans>
              <b>Not healthy: {unwell}.</b> Requests sent there may fail.
            </Trans>
          </p>
        ) : null}
        <p className="secondary">
          <Trans>New requests only; those under way are finished where they are.</Trans>
        </p>
        <AsCodeButton wide recipe={() => trafficRecipe(endpoint.name, draft)} />
      </ConfirmModal>
    ),
  };
}

/** The second deployment's share at a click, where there are two. */
function Presets({ control, name, disabled }: { control: TrafficControl; name: string; disabled: boolean }) {
  return (
    <div className={classes["shares"]} role="group" aria-label={t`Share of ${name}`}>
      <span className="secondary">{name}</span>
      {PRESET_SHARES.map((share) => (
        <Button
          key={share}
          size="compact-xs"
          variant={control.draft[name] === share ? "light" : "default"}
          aria-pressed={control.draft[name] === share}
          disabled={disabled}
          onClick={() => control.setDraft(withShare(control.draft, name, share))}
        >
          {share} %
        </Button>
      ))}
    </div>
  );
}

export function TrafficEditor({ control }: { control: TrafficControl }) {
  const { names, draft, setDraft } = control;
  const disabled = useRefusal("deploy") !== undefined;
  const note = (
    <>
      {control.asking ? null : control.conflict}
      <RoleNote needs="deploy" to={t`move traffic`} />
    </>
  );
  const [first, second] = names;
  if (names.length === 2 && first !== undefined && second !== undefined) {
    return (
      <>
        <Slider
          className={classes["slider"] ?? ""}
          disabled={disabled}
          value={draft[first] ?? 0}
          onChange={(share) => setDraft(withShare(draft, first, share))}
          onKeyDown={(event) => {
            const step = event.key === "PageUp" ? 10 : event.key === "PageDown" ? -10 : 0;
            if (step === 0) return;
            event.preventDefault();
            setDraft(withShare(draft, first, (draft[first] ?? 0) + step));
          }}
          label={null}
          size={4}
          thumbSize={16}
          thumbLabel={t`Traffic of ${first} in per cent`}
        />
        <div className={classes["exact"]}>
          <span className={classes["twin"]}>
            <span className="secondary" aria-hidden>
              {first}
            </span>
            <NumberField
              aria-label={t`Traffic of ${first}`}
              disabled={disabled}
              value={draft[first] ?? 0}
              min={0}
              max={100}
              suffix=" %"
              w={84}
              onChange={(value) => setDraft(withShare(draft, first, value))}
            />
          </span>
          <Presets control={control} name={second} disabled={disabled} />
        </div>
        {note}
      </>
    );
  }
  if (names.length > 2) {
    const sum = total(draft);
    return (
      <div className={classes["fields"]}>
        {names.map((name) => (
          <NumberField
            key={name}
            label={name}
            disabled={disabled}
            value={draft[name] ?? 0}
            min={0}
            max={100}
            suffix=" %"
            w={104}
            onChange={(value) => setDraft({ ...draft, [name]: value })}
          />
        ))}
        <p className={classes["sum"]} data-bad={control.valid ? undefined : ""}>
          {control.valid ? t`Total ${sum} %` : t`Total ${sum} %, must be 100 %`}
        </p>
        {note}
      </div>
    );
  }
  return null;
}

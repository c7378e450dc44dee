/** What an endpoint's gateways hold its callers to: origins, size of bodies, pace. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { bytes as bytesText, count } from "@/components/format";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { OvertakenNote, useSaving, Values } from "@/components/saving";
import { limitsRecipe } from "../recipes";
import { bodyOf, draftOf, type LimitsDraft, type Per, refusalOf, sameDraft } from "./limits";
import classes from "./limits-card.module.css";

const PER: { value: Per; label: string }[] = [
  { value: "endpoint", label: t`All callers together` },
  { value: "key", label: t`Each key for itself` },
];

const numberOf = (value: number | string): number | "" => (typeof value === "number" ? value : "");

function Fields({ draft, set, error }: { draft: LimitsDraft; set: (change: Partial<LimitsDraft>) => void; error: unknown }) {
  const refusal = useRefusal("deploy");
  const { fields } = refusalOf(error);
  // why no clamping: what is out of range is refused in the server's words, not changed behind one's back.
  const number = { clampBehavior: "none", allowDecimal: false, allowNegative: false, hideControls: true, ...DIGIT_GROUPS } as const;
  const disabled = refusal !== undefined;
  return (
    <>
      <Textarea
        label={t`Origins of pages that may call it`}
        description={t`As browsers send them, one per line: https://shop.example; * alone lets every page in. Empty: no page.`}
        autosize
        minRows={2}
        maxRows={8}
        classNames={{ input: "mono" }}
        spellCheck={false}
        disabled={disabled}
        value={draft.origins}
        error={fields.cors_origins}
        onChange={(event) => set({ origins: event.currentTarget.value })}
      />
      <NumberInput
        {...number}
        label={t`Largest body`}
        description={
          draft.bytes === "" ? t`In bytes. Empty: only the runtime's own limit.` : t`${bytesText(draft.bytes)}; more is answered 413.`
        }
        suffix={` ${t`bytes`}`}
        disabled={disabled}
        value={draft.bytes}
        error={fields.max_request_bytes}
        onChange={(value) => set({ bytes: numberOf(value) })}
      />
      <div className={classes["pace"]}>
        <NumberInput
          {...number}
          label={t`Requests per second`}
          description={t`Empty: no limit. More get a 429.`}
          disabled={disabled}
          value={draft.perSecond}
          error={fields.requests_per_second}
          onChange={(value) => set({ perSecond: numberOf(value) })}
        />
        <NumberInput
          {...number}
          label={t`At once after a pause`}
          description={t`Empty: as many as per second.`}
          disabled={disabled || draft.perSecond === ""}
          value={draft.burst}
          error={fields.burst}
          onChange={(value) => set({ burst: numberOf(value) })}
        />
        <Select
          label={t`Counted for`}
          description={t`At each gateway on its own.`}
          allowDeselect={false}
          data={PER}
          disabled={disabled || draft.perSecond === ""}
          value={draft.per}
          error={fields.per}
          onChange={(value) => set({ per: value === "key" ? "key" : "endpoint" })}
        />
      </div>
    </>
  );
}

/** What they are, in the words of the form. */
function Shown({ limits }: { limits: LimitsDraft }) {
  const { origins, bytes, perSecond, burst, per } = limits;
  const none = t`none`;
  return (
    <Values
      of={[
        [t`Origins of pages that may call it`, origins || none],
        [t`Largest body`, bytes === "" ? none : bytesText(bytes)],
        [t`Requests per second`, perSecond === "" ? none : count(perSecond)],
        ...(perSecond === "" ? [] : ([[t`At once after a pause`, count(burst === "" ? perSecond : burst)]] as const)),
        ...(perSecond === "" ? [] : ([[t`Counted for`, PER.find((one) => one.value === per)?.label ?? per]] as const)),
      ]}
    />
  );
}

export function LimitsCard({ endpoint }: { endpoint: Endpoint }) {
  const queryClient = useQueryClient();
  const shownBy = keys.endpoints.one(endpoint.name);
  const saving = useSaving({ thing: endpoint, part: draftOf, same: sameDraft, shownBy });
  const draft = saving.draft;
  const save = async (limits: LimitsDraft, { etag }: Endpoint) => {
    queryClient.setQueryData(shownBy, await updateEndpoint(endpoint.name, bodyOf(limits), etag));
    notifyDone(t`The limits are saved; gateways act on them within seconds`);
  };
  const { other } = refusalOf(saving.error);
  return (
    <Card
      title={t`Limits`}
      hint={t`what gateways hold callers to; off where empty`}
      actions={<AsCodeButton recipe={() => limitsRecipe(endpoint.name, bodyOf(draft))} />}
    >
      <form
        className={classes["form"]}
        aria-label={t`Limits`}
        onSubmit={(event) => {
          event.preventDefault();
          saving.send(save);
        }}
      >
        <Fields draft={draft} error={saving.error} set={(change) => saving.edit({ ...draft, ...change })} />
        <OvertakenNote saving={saving} now={(current) => <Shown limits={draftOf(current)} />} />
        {other ? <ProblemCard error={other} title={t`The limits could not be saved`} /> : null}
        <div className={classes["actions"]}>
          <RefusingButton type="submit" needs="deploy" disabled={!saving.changed || saving.overtaken !== null} loading={saving.pending}>
            <Trans>Save the limits</Trans>
          </RefusingButton>
        </div>
      </form>
    </Card>
  );
}

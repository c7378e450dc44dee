/** What an endpoint's gateways hold its callers to: origins, size of bodies, pace. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { bytes as bytesText } from "@/components/format";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
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

export function LimitsCard({ endpoint }: { endpoint: Endpoint }) {
  const queryClient = useQueryClient();
  const saved = draftOf(endpoint);
  const signature = JSON.stringify(saved);
  const [draft, setDraft] = useState(saved);
  // What others save shows at once; what is edited here is only replaced when the server's limits change.
  useEffect(() => setDraft(JSON.parse(signature) as LimitsDraft), [signature]);
  const save = useMutation({
    mutationFn: () => updateEndpoint(endpoint.name, bodyOf(draft)),
    onSuccess: (updated) => {
      queryClient.setQueryData(keys.endpoints.one(endpoint.name), updated);
      notifyDone(t`The limits are saved; gateways act on them within seconds`);
    },
  });
  const changed = !sameDraft(draft, saved);
  const { other } = refusalOf(save.error);
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
          save.mutate();
        }}
      >
        <Fields
          draft={draft}
          error={save.error}
          set={(change) => {
            save.reset();
            setDraft((old) => ({ ...old, ...change }));
          }}
        />
        {other ? <ProblemCard error={other} title={t`The limits could not be saved`} /> : null}
        <div className={classes["actions"]}>
          <RefusingButton type="submit" needs="deploy" disabled={!changed} loading={save.isPending}>
            <Trans>Save the limits</Trans>
          </RefusingButton>
        </div>
      </form>
    </Card>
  );
}

/** An objective: what share of the requests shall be good, and what good means; a name that is taken has its own set anew. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setObjective } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { Endpoint } from "@/api/types";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { OvertakenNote, type Send } from "@/components/saving";
import { promised, promiseNow, useObjectiveSaving } from "./objective-saving";
import { promise, THRESHOLDS_MS } from "./words";

interface Form {
  kind: "availability" | "latency";
  name: string;
  target: number | string;
  days: number | string;
  threshold: string;
}

const NEW: Form = { kind: "availability", name: "", target: 99.9, days: 28, threshold: "250" };

const bodyOf = ({ kind, target, days, threshold }: Form) => ({
  kind,
  target_percent: Number(target),
  window_days: Number(days),
  threshold_ms: kind === "latency" ? Number(threshold) : null,
});

export function ObjectiveDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const client = useQueryClient();
  const [form, setForm] = useState(NEW);
  const { kind, name, target, days, threshold } = form;
  const named = name.trim() || kind;
  const saving = useObjectiveSaving(endpoint, named);
  const there = promised(endpoint, named);
  const set = (change: Partial<Form>) => setForm({ ...form, ...change });
  const send: Send<Endpoint, unknown> = async (_, { etag }) => {
    await setObjective(endpoint.name, named, bodyOf(form), etag);
    await client.invalidateQueries({ queryKey: keys.endpoints.one(endpoint.name) });
    notifyDone(t`${named} is set`);
    onClose();
  };
  return (
    <ConfirmModal
      opened
      onClose={onClose}
      title={t`Objective of ${endpoint.name}`}
      confirmLabel={t`Set ${named}`}
      blocked={typeof target !== "number" || typeof days !== "number" || saving.overtaken !== null}
      onConfirm={() => saving.sendNow(send)}
    >
      <Select
        label={t`Good is a request`}
        data={[
          { value: "availability", label: t`that is not answered by a 5xx` },
          { value: "latency", label: t`that is answered in time` },
        ]}
        value={kind}
        onChange={(value) => set({ kind: value === "latency" ? "latency" : "availability" })}
        allowDeselect={false}
      />
      {kind === "latency" ? (
        <Select
          label={t`In time, milliseconds`}
          description={t`Bounds of the gateways' histogram: between two of them nobody could tell`}
          data={THRESHOLDS_MS.map(String)}
          value={threshold}
          onChange={(value) => set({ threshold: value ?? "250" })}
          allowDeselect={false}
        />
      ) : null}
      <NumberInput
        label={t`So many shall be good, %`}
        min={50}
        max={99.999}
        decimalScale={3}
        step={0.1}
        value={target}
        onChange={(value) => set({ target: value })}
      />
      <NumberInput label={t`Over days`} min={1} max={28} allowDecimal={false} value={days} onChange={(value) => set({ days: value })} />
      <TextInput
        label={t`Name`}
        description={t`Empty: ${kind}`}
        maxLength={32}
        value={name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      {there && saving.overtaken === null ? (
        <p role="status">
          <Trans>
            {named} is there already, with {promise(there)}; it is set anew.
          </Trans>
        </p>
      ) : null}
      <OvertakenNote saving={saving} now={(current) => promiseNow(current, named)} onTake={onClose} again={send} />
    </ConfirmModal>
  );
}

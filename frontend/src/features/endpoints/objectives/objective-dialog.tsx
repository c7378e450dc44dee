/** A new objective: what share of the requests shall be good, and what good means. */
import { t } from "@lingui/core/macro";
import { NumberInput, Select, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setObjective } from "@/api/alerts";
import { keys } from "@/api/keys";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { THRESHOLDS_MS } from "./words";

export function ObjectiveDialog({ endpoint, opened, onClose }: { endpoint: string; opened: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const [kind, setKind] = useState<"availability" | "latency">("availability");
  const [name, setName] = useState("");
  const [target, setTarget] = useState<number | string>(99.9);
  const [days, setDays] = useState<number | string>(28);
  const [threshold, setThreshold] = useState("250");
  const named = name.trim() || (kind === "availability" ? "availability" : "latency");
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={t`Objective of ${endpoint}`}
      confirmLabel={t`Set ${named}`}
      blocked={typeof target !== "number" || typeof days !== "number"}
      onConfirm={async () => {
        await setObjective(endpoint, named, {
          kind,
          target_percent: Number(target),
          window_days: Number(days),
          threshold_ms: kind === "latency" ? Number(threshold) : null,
        });
        await client.invalidateQueries({ queryKey: keys.endpoints.objectives(endpoint) });
        notifyDone(t`${named} is set`);
      }}
    >
      <Select
        label={t`Good is a request`}
        data={[
          { value: "availability", label: t`that is not answered by a 5xx` },
          { value: "latency", label: t`that is answered in time` },
        ]}
        value={kind}
        onChange={(value) => setKind(value === "latency" ? "latency" : "availability")}
        allowDeselect={false}
      />
      {kind === "latency" ? (
        <Select
          label={t`In time, milliseconds`}
          description={t`Bounds of the gateways' histogram: between two of them nobody could tell`}
          data={THRESHOLDS_MS.map(String)}
          value={threshold}
          onChange={(value) => setThreshold(value ?? "250")}
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
        onChange={setTarget}
      />
      <NumberInput label={t`Over days`} min={1} max={28} allowDecimal={false} value={days} onChange={setDays} />
      <TextInput
        label={t`Name`}
        description={t`Empty: ${kind}`}
        maxLength={32}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </ConfirmModal>
  );
}

/** How much the floating-point values of an answer may differ from what a case expects. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { changedCase, replaceTestCase, testCaseQuery } from "@/api/test-cases";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";

export interface ToleranceDialogProps {
  id: string;
  onClose: () => void;
  onSaved: () => void;
}

type Typed = number | string;

export function ToleranceDialog({ id, onClose, onSaved }: ToleranceDialogProps) {
  const queryClient = useQueryClient();
  const { data, error } = useQuery(testCaseQuery(id));
  const [typed, setTyped] = useState<{ relative?: Typed; absolute?: Typed }>({});
  const relative = typed.relative ?? data?.tolerance.relative ?? "";
  const absolute = typed.absolute ?? data?.tolerance.absolute ?? "";
  const valid = typeof relative === "number" && typeof absolute === "number";
  return (
    <ConfirmModal
      opened
      onClose={onClose}
      title={data ? t`Tolerance of ${data.name}` : t`Tolerance`}
      confirmLabel={t`Save`}
      blocked={!data || !valid}
      onConfirm={async () => {
        if (!data || !valid) return;
        const saved = await replaceTestCase(id, changedCase(data, { tolerance: { relative, absolute } }));
        queryClient.setQueryData(keys.testCases.one(id), saved);
        notifyDone(t`The tolerance of ${saved.name} is saved`);
        onSaved();
      }}
    >
      {error ? <ProblemCard error={error} title={t`The case could not be loaded`} /> : null}
      <p>
        <Trans>A floating-point value may differ by absolute + relative × |expected|. Everything else must be equal.</Trans>
      </p>
      <NumberInput
        label={t`Relative`}
        min={0}
        max={1}
        step={0.001}
        value={relative}
        onChange={(next) => setTyped((old) => ({ ...old, relative: next }))}
        data-autofocus
      />
      <NumberInput
        label={t`Absolute`}
        min={0}
        step={0.001}
        value={absolute}
        onChange={(next) => setTyped((old) => ({ ...old, absolute: next }))}
      />
    </ConfirmModal>
  );
}

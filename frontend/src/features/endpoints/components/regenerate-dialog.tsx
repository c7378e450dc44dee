/** Replacing one of an endpoint's two keys. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { regenerateKey } from "@/api/endpoints";
import type { EndpointKeys } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyRevoked } from "../notify-revoked";
import { regenerateRecipe } from "../recipes";

export type KeyKind = "primary" | "secondary";

export interface RegenerateDialogProps {
  endpoint: string;
  /** Null while nothing is asked. */
  kind: KeyKind | null;
  onClose: () => void;
  /** The two keys after it. */
  onDone?: (keys: EndpointKeys) => void;
}

export function RegenerateDialog({ endpoint, kind, onClose, onDone }: RegenerateDialogProps) {
  return (
    <ConfirmModal
      opened={kind !== null}
      onClose={onClose}
      title={t`Regenerate the ${kind ?? ""} key of ${endpoint}`}
      confirmLabel={t`Regenerate the ${kind ?? ""} key`}
      danger
      onConfirm={async () => {
        if (!kind) return;
        const made = await regenerateKey(endpoint, kind);
        onDone?.(made);
        const renewed = t`The ${kind} key of ${endpoint} is new`;
        void notifyRevoked(endpoint, t`${renewed}; the old one no longer works`, t`${renewed}, but the old one may still open it`);
      }}
    >
      <p>
        <Trans>Callers that still use the old {kind} key are refused with 401 within seconds. The other key stays.</Trans>
      </p>
      {kind ? <AsCodeButton wide recipe={() => regenerateRecipe(endpoint, kind)} /> : null}
    </ConfirmModal>
  );
}

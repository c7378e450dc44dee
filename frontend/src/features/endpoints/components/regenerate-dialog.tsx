/** Replacing one of an endpoint's two keys. */
import { t } from "@lingui/core/macro";
import { regenerateKey } from "@/api/endpoints";
import type { EndpointKeys } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyRevoked } from "../notify-revoked";
import { regenerateRecipe } from "../recipes";

export type KeyKind = "primary" | "secondary";

interface KeyTexts {
  title: (endpoint: string) => string;
  confirm: string;
  renewed: (endpoint: string) => string;
  refused: string;
}

const TEXTS: Record<KeyKind, KeyTexts> = {
  primary: {
    title: (endpoint) => t`Regenerate the primary key of ${endpoint}`,
    confirm: t`Regenerate the primary key`,
    renewed: (endpoint) => t`The primary key of ${endpoint} is new`,
    refused: t`Callers that still use the old primary key are refused with 401 within seconds. The other key stays.`,
  },
  secondary: {
    title: (endpoint) => t`Regenerate the secondary key of ${endpoint}`,
    confirm: t`Regenerate the secondary key`,
    renewed: (endpoint) => t`The secondary key of ${endpoint} is new`,
    refused: t`Callers that still use the old secondary key are refused with 401 within seconds. The other key stays.`,
  },
};

export interface RegenerateDialogProps {
  endpoint: string;
  /** Null while nothing is asked. */
  kind: KeyKind | null;
  onClose: () => void;
  /** The two keys after it. */
  onDone?: (keys: EndpointKeys) => void;
}

export function RegenerateDialog({ endpoint, kind, onClose, onDone }: RegenerateDialogProps) {
  const texts = TEXTS[kind ?? "primary"];
  return (
    <ConfirmModal
      opened={kind !== null}
      onClose={onClose}
      title={texts.title(endpoint)}
      confirmLabel={texts.confirm}
      danger
      onConfirm={async () => {
        if (!kind) return;
        const made = await regenerateKey(endpoint, kind);
        onDone?.(made);
        const renewed = texts.renewed(endpoint);
        void notifyRevoked(endpoint, t`${renewed}; the old one no longer works`, t`${renewed}, but the old one may still open it`);
      }}
    >
      <p>{texts.refused}</p>
      {kind ? <AsCodeButton wide recipe={() => regenerateRecipe(endpoint, kind)} /> : null}
    </ConfirmModal>
  );
}

/** What is said of a version's signatures: who signed, or that nobody did and what follows here. */
import { t } from "@lingui/core/macro";
import type { Signatures } from "@/api/types";

export interface SignatureMessage {
  tone: "ok" | "idle" | "warn";
  title: string;
  text: string;
  /** The command that signs it; none where it is signed. */
  command: string | null;
}

export function signatureMessage(found: Signatures): SignatureMessage {
  const { model, version, config_revision: revision } = found;
  const what = revision > 0 ? t`Its files with configuration revision ${revision}` : t`Its files`;
  if (found.signed) {
    return { tone: "ok", title: t`Signed`, text: t`${what} are signed by a key that this installation trusts.`, command: null };
  }
  return {
    tone: found.required ? "warn" : "idle",
    title: t`Not signed`,
    text: found.required
      ? t`${what} cannot be deployed or tried: this installation asks for a signature by a trusted key.`
      : t`${what} are not signed by a trusted key. This installation does not ask for it.`,
    command: `shoal model sign --name ${model} --version ${version} --config-revision ${revision} --key FILE`,
  };
}

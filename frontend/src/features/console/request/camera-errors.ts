/** Why there is no camera, and what to do about it. Pure. */
import { t } from "@lingui/core/macro";

const REASONS: Record<string, string> = {
  NotAllowedError: t`The camera was refused. Allow it for this page in the browser's settings (the icon beside the address), then try again.`,
  NotFoundError: t`This machine has no camera.`,
  NotReadableError: t`The camera is in use by another program, or the system refuses it.`,
  OverconstrainedError: t`No camera fits what was asked for.`,
};

/** Of what `getUserMedia` was refused with. */
export function cameraError(error: unknown): string {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "";
  const message = error instanceof Error ? error.message : "";
  return REASONS[name] ?? (message === "" ? t`The camera could not be opened.` : t`The camera could not be opened: ${message}.`);
}

/** Browsers give cameras only to pages that came safely. */
export const NO_CAMERAS = t`Browsers open cameras only on pages of HTTPS or of this machine (localhost).`;

/** Why there is no camera, and what to do about it. Pure. */

const REASONS: Record<string, string> = {
  NotAllowedError:
    "The camera was refused. Allow it for this page in the browser's settings (the icon beside the address), then try again.",
  NotFoundError: "This machine has no camera.",
  NotReadableError: "The camera is in use by another program, or the system refuses it.",
  OverconstrainedError: "No camera fits what was asked for.",
};

/** Of what `getUserMedia` was refused with. */
export function cameraError(error: unknown): string {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "";
  return REASONS[name] ?? `The camera could not be opened${error instanceof Error && error.message ? `: ${error.message}` : ""}.`;
}

/** Browsers give cameras only to pages that came safely. */
export const NO_CAMERAS = "Browsers open cameras only on pages of HTTPS or of this machine (localhost).";

/** How bad an event is, as a tone. */
import type { EventItem } from "@/api/types";
import type { Tone } from "@/components/status";

const TONES: Record<EventItem["severity"], Tone> = { info: "idle", warning: "warn", error: "error" };
export const severityTone = (severity: EventItem["severity"]): Tone => TONES[severity];

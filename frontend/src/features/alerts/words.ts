/** Alerts in words and tones. */
import { t } from "@lingui/core/macro";
import type { LinkProps } from "@tanstack/react-router";
import type { Alert, Delivery } from "@/api/types";
import { paths } from "@/app/paths";
import type { Tone } from "@/components/status";

export function stateOf(alert: Alert): { word: string; tone: Tone } {
  if (alert.state === "resolved") return { word: t`resolved`, tone: "ok" };
  if (alert.state === "pending") return { word: t`pending`, tone: "idle" };
  if (alert.silence) return { word: t`silenced`, tone: "idle" };
  return alert.severity === "page" ? { word: t`firing`, tone: "error" } : { word: t`firing`, tone: "warn" };
}

/** What it is about: where that is shown, and how it is called. */
export function subjectOf(alert: Pick<Alert, "subject" | "part">): { link: LinkProps; text: string } {
  const slash = alert.subject.indexOf("/");
  const kind = slash < 0 ? alert.subject : alert.subject.slice(0, slash);
  const name = slash < 0 ? "" : alert.subject.slice(slash + 1);
  const text = [name || t`Installation`, alert.part].filter(Boolean).join(", ");
  if (kind === "endpoint") return { link: paths.endpoint(name), text };
  if (kind === "node") return { link: paths.node(name), text };
  return { link: paths.system(), text };
}

/** What came of the latest try. */
export function cameOf(delivery: Delivery): string {
  const last = delivery.log.at(-1);
  if (!last) return t`not sent yet`;
  if (last.error) return last.error;
  const ms = Math.round(last.ms);
  return last.status ? t`${last.status} in ${ms} ms` : t`taken in ${ms} ms`;
}

export const DELIVERY_TONES: Record<Delivery["status"], Tone> = { waiting: "info", delivered: "ok", failed: "error" };

export const DELIVERY_WORDS: Record<Delivery["status"], string> = { waiting: t`waiting`, delivered: t`delivered`, failed: t`failed` };

/** What a message told; an event that is not known here is shown as the server calls it. */
const EVENT_WORDS: Readonly<Record<string, string>> = { firing: t`firing`, resolved: t`resolved`, test: t`test` };
export const eventWord = (delivery: Delivery): string => EVENT_WORDS[delivery.event] ?? delivery.event;

export const SPANS = [
  { value: "1", label: t`an hour` },
  { value: "4", label: t`four hours` },
  { value: "24", label: t`a day` },
  { value: "168", label: t`a week` },
];

export const endsIn = (hours: number, now: number = Date.now()): string => new Date(now + hours * 3_600_000).toISOString();

/** What must work before the first deployment, one line each, from the parts of the installation. */
import { t } from "@lingui/core/macro";
import type { Overview, SystemPart } from "@/api/types";
import { bytes } from "@/components/format";
import type { Tone } from "@/components/status";

/** More names than these are counted. */
const NAMED = 5;

export interface FirstCheck {
  label: string;
  text: string;
  tone: Tone;
}

const TONES: Record<SystemPart["state"], Tone> = { ok: "ok", warning: "warn", error: "error", unknown: "idle" };
const fact = (part: SystemPart, name: string): string => part.facts.find((one) => one.name === name)?.value ?? "";

const words = (part: SystemPart): string => [part.summary, part.state === "ok" ? "" : part.hint].filter(Boolean).join(". ");

function ofKind(parts: readonly SystemPart[], kind: SystemPart["kind"], label: string, text = words): FirstCheck[] {
  return parts
    .filter((part) => part.kind === kind)
    .slice(0, 1)
    .map((part) => ({ label, text: text(part), tone: TONES[part.state] }));
}

/** "a, b and 7 more": the names that are known of so many that are online. */
export function onlineWords({ counts, nodes }: Overview): string {
  const names = nodes.filter((node) => node.state === "online").map((node) => node.name);
  const more = counts.nodes_online - Math.min(names.length, NAMED);
  const listed = names.slice(0, NAMED).join(", ");
  return more > 0 ? t`${listed} and ${more} more` : listed;
}

function nodeCheck(overview: Overview): FirstCheck {
  const { nodes_online: online } = overview.counts;
  const names = onlineWords(overview);
  return online > 0
    ? { label: online === 1 ? t`Node` : t`Nodes`, text: t`${names} online`, tone: "ok" }
    : { label: t`Node`, text: t`none is online yet`, tone: "warn" };
}

function gpuCheck({ gpus, gpu_name: name, gpu_memory_bytes: memory }: Overview["totals"]): FirstCheck {
  // Models run on processors as well: no GPU is no fault.
  if (gpus === 0) return { label: "GPU", text: t`none found; models run on processors`, tone: "idle" };
  return { label: "GPU", text: t`${gpus} × ${name}, ${bytes(memory)} in all`, tone: "ok" };
}

export function firstChecks(parts: readonly SystemPart[], overview: Overview): FirstCheck[] {
  const data = parts.filter((part) => part.kind === "disk").sort((a, b) => Number(b.name === "Data") - Number(a.name === "Data"));
  return [
    ...ofKind(parts, "database", t`Database`),
    ...ofKind(parts, "broker", t`Broker`),
    ...ofKind(parts, "certificate", t`TLS, SHA-256`, (part) => fact(part, "SHA-256")),
    ...ofKind(data, "disk", t`Data folder`, (part) => `${fact(part, "folder")}, ${words(part)}`),
    nodeCheck(overview),
    gpuCheck(overview.totals),
  ];
}

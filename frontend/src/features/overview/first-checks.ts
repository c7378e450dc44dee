/** What must work before the first deployment, one line each, from the parts of the installation. */
import type { Overview, SystemPart } from "@/api/types";
import { bytes } from "@/components/format";
import type { Tone } from "@/components/status";

type Node = Overview["nodes"][number];

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

function nodeCheck(nodes: readonly Node[]): FirstCheck {
  const online = nodes.filter((node) => node.state === "online").map((node) => node.name);
  return online.length > 0
    ? { label: online.length === 1 ? "Node" : "Nodes", text: `${online.join(", ")} online`, tone: "ok" }
    : { label: "Node", text: "none is online yet", tone: "warn" };
}

function gpuCheck(nodes: readonly Node[]): FirstCheck {
  const gpus = nodes.flatMap((node) => node.info.gpus);
  const [first] = gpus;
  // Models run on processors as well: no GPU is no fault.
  if (first === undefined) return { label: "GPU", text: "none found; models run on processors", tone: "idle" };
  const memory = gpus.reduce((sum, gpu) => sum + gpu.memory_total_bytes, 0);
  return { label: "GPU", text: `${gpus.length} × ${first.name}, ${bytes(memory)} in all`, tone: "ok" };
}

export function firstChecks(parts: readonly SystemPart[], nodes: readonly Node[]): FirstCheck[] {
  const data = parts.filter((part) => part.kind === "disk").sort((a, b) => Number(b.name === "Data") - Number(a.name === "Data"));
  return [
    ...ofKind(parts, "database", "Database"),
    ...ofKind(parts, "broker", "Broker"),
    ...ofKind(parts, "certificate", "TLS, SHA-256", (part) => fact(part, "SHA-256")),
    ...ofKind(data, "disk", "Data folder", (part) => `${fact(part, "folder")}, ${words(part)}`),
    nodeCheck(nodes),
    gpuCheck(nodes),
  ];
}

/** Events by kind. */
import { t } from "@lingui/core/macro";
import type { EventItem } from "@/api/types";

export const KINDS = [
  { value: "all", label: t`All` },
  { value: "traffic", label: t`Traffic` },
  { value: "operation", label: t`Operations` },
  { value: "replica", label: t`Replicas` },
  { value: "access", label: t`Keys and access` },
  { value: "failure", label: t`Failures` },
] as const;
export type Kind = (typeof KINDS)[number]["value"];

export function isKind(event: EventItem, kind: Kind): boolean {
  switch (kind) {
    case "all":
      return true;
    case "traffic":
      return /^endpoint\.(traffic|mirror|rules)/.test(event.verb);
    case "operation":
      return event.verb.startsWith("operation.") || event.verb.startsWith("deployment.");
    case "replica":
      return event.verb.startsWith("replica.");
    case "access":
      return /^endpoint\.(key|token|auth)/.test(event.verb);
    case "failure":
      return event.severity !== "info";
  }
}

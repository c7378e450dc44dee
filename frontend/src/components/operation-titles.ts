/** What an operation does, in words. */
import { t } from "@lingui/core/macro";
import type { Operation } from "@/api/types";

export function operationTitle(operation: Pick<Operation, "kind" | "endpoint" | "deployment">): string {
  const where = [operation.endpoint, operation.deployment].filter(Boolean).join(" / ");
  switch (operation.kind) {
    case "deploy":
      return t`Deploy ${where}`;
    case "scale":
      return t`Scale ${where}`;
    case "delete-deployment":
      return t`Delete ${where}`;
    case "delete-endpoint":
      return t`Delete ${operation.endpoint ?? ""}`;
    default:
      return `${operation.kind} ${where}`;
  }
}

/** Kinds of operations, as a filter names them. */
export const KIND_WORDS: Record<Operation["kind"], string> = {
  deploy: t`Deploy`,
  scale: t`Scale`,
  "delete-deployment": t`Delete a deployment`,
  "delete-endpoint": t`Delete an endpoint`,
};

/** The stage that is under way or has failed. */
export function currentStage(operation: Operation): string {
  const stage = operation.stages.find((item) => item.status === "running" || item.status === "failed");
  return stage ? stage.title : "";
}

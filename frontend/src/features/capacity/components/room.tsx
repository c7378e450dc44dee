/** How many more replicas of a deployment would find a place now: asked of placement when somebody wants to know. */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { readRoom } from "@/api/capacity";
import { toProblem } from "@/api/problem";
import type { Room as Found } from "@/api/types";
import { counted } from "@/components/format";

function told({ more, at_least, nodes, note, reasons }: Found): string {
  const count = `${at_least ? "At least " : ""}${counted(more, "more replica")}`;
  const where = nodes.length > 0 ? ` on ${counted(nodes.length, "node")}` : "";
  const why = more === 0 && reasons[0] ? ` ${counted(reasons[0].nodes, "node")}: ${reasons[0].reason}.` : "";
  return `${count}${where}.${why}${note ? ` ${note}` : ""}`;
}

export function Room({ endpoint, deployment }: { endpoint: string; deployment: string }) {
  const ask = useMutation({ mutationFn: () => readRoom(endpoint, deployment) });
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`How many more fit? Replicas of ${endpoint}/${deployment}`}
        loading={ask.isPending}
        onClick={() => ask.mutate()}
      >
        How many more fit?
      </Button>
      <div className="secondary" role="status">
        {ask.error ? toProblem(ask.error).detail : ask.data ? told(ask.data) : ""}
      </div>
    </>
  );
}

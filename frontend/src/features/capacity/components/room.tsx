/** How many more replicas of a deployment would find a place now: asked of placement when somebody wants to know. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { readRoom } from "@/api/capacity";
import { toProblem } from "@/api/problem";
import type { Room as Found } from "@/api/types";

function told({ more, at_least, nodes, note, reasons }: Found): string {
  const count = at_least
    ? plural(more, { one: "At least # more replica", other: "At least # more replicas" })
    : plural(more, { one: "# more replica", other: "# more replicas" });
  const where = nodes.length > 0 ? t` on ${plural(nodes.length, { one: "# node", other: "# nodes" })}` : "";
  const why = more === 0 && reasons[0] ? ` ${plural(reasons[0].nodes, { one: "# node", other: "# nodes" })}: ${reasons[0].reason}.` : "";
  return `${count}${where}.${why}${note ? ` ${note}` : ""}`;
}

export function Room({ endpoint, deployment }: { endpoint: string; deployment: string }) {
  const ask = useMutation({ mutationFn: () => readRoom(endpoint, deployment) });
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={t`How many more fit? Replicas of ${endpoint}/${deployment}`}
        loading={ask.isPending}
        onClick={() => ask.mutate()}
      >
        <Trans>How many more fit?</Trans>
      </Button>
      <div className="secondary" role="status">
        {ask.error ? toProblem(ask.error).detail : ask.data ? told(ask.data) : ""}
      </div>
    </>
  );
}

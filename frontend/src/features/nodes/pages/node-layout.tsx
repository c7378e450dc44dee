/** One node: its header with what can be done to it, and the tabs. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { nodeQuery } from "@/api/nodes";
import { toProblem } from "@/api/problem";
import type { NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { relativeTime } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { RoleNote } from "@/components/role-note";
import { SkeletonRows } from "@/components/skeleton";
import { Tabs } from "@/components/tabs";
import { NodeActions } from "../components/node-actions";
import { NodeStatus } from "../components/node-status";

/** What is being done to it, or what is wrong, in one sentence. */
function sentence(node: NodeItem): string | undefined {
  if (node.state === "offline") {
    return t`It does not report. What it serves is not touched by that alone; it gets no changes until it is back.`;
  }
  if (node.drain && !node.drain.done) {
    const stops = relativeTime(node.drain.deadline_at);
    return plural(node.replicas.length, {
      one: `Draining: # replica is still here. What is left stops ${stops}.`,
      other: `Draining: # replicas are still here. What is left stops ${stops}.`,
    });
  }
  if (node.drain) return t`Drained: nothing runs here, and nothing comes until it is uncordoned.`;
  return undefined;
}

export function NodeLayout() {
  const { name } = useParams({ from: "/app/nodes/$name" });
  usePageTitle(name, t`Nodes`);
  const { data: node, error, refetch } = useQuery(nodeQuery(name));
  if (!node) {
    return (
      <>
        <PageHeader title={name} />
        {error && toProblem(error).status === 404 ? (
          <EmptyState
            title={t`There is no node ${name}`}
            action={
              <LinkButton {...paths.nodes()} variant="default">
                <Trans>All nodes</Trans>
              </LinkButton>
            }
          />
        ) : null}
        {error && toProblem(error).status !== 404 ? (
          <LoadProblem error={error} what={t`The node`} needs="read" onRetry={() => void refetch()} />
        ) : null}
        {error ? null : <SkeletonRows label={t`Loading the node`} />}
      </>
    );
  }
  return (
    <>
      <PageHeader title={node.name} beside={<NodeStatus node={node} />} actions={<NodeActions node={node} />} subtitle={sentence(node)} />
      <Tabs
        label={t`Node ${node.name}`}
        tabs={[
          { label: t`Overview`, link: paths.nodeTab(name, "overview") },
          { label: "GPUs", link: paths.nodeTab(name, "gpus"), count: node.info.gpus.length },
          { label: t`Replicas`, link: paths.nodeTab(name, "models"), count: node.replicas.length },
          { label: t`Cache`, link: paths.nodeTab(name, "cache") },
          { label: t`Logs`, link: paths.nodeTab(name, "logs") },
        ]}
      />
      <RoleNote needs="operate" to={t`cordon, drain, label or remove nodes`} />
      <Outlet key={name} />
    </>
  );
}

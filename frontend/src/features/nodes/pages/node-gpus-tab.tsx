/** The GPUs: how each does, and what may use it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconCpu2 } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { gpuCourseQuery } from "@/api/nodes";
import type { Gpu, MetricColumns, NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CopyButton } from "@/components/copy";
import { EmptyState } from "@/components/empty-state";
import { Sparkline } from "@/components/charts/sparkline";
import { Meter } from "@/components/meter";
import { Status } from "@/components/status";
import { type Reading, readingsOf, seriesOf } from "../gpu-readings";
import { useNode } from "../hooks/use-node";
import classes from "./node-page.module.css";

function Panel({ reading, gpu }: { reading: Reading; gpu: Gpu }) {
  return (
    <div className={classes["reading"]}>
      {reading.share === null ? (
        <span className={classes["plain"]}>
          <span className="muted">{reading.label}</span>
          <span>{reading.text}</span>
        </span>
      ) : (
        <Meter label={reading.label} share={reading.share} text={reading.text} />
      )}
      {reading.course.length > 0 ? (
        <Sparkline values={reading.course} label={t`${reading.label} of GPU ${gpu.index}, last 15 minutes`} />
      ) : null}
    </div>
  );
}

function GpuCard({ gpu, node, course }: { gpu: Gpu; node: NodeItem; course: MetricColumns | undefined }) {
  // Null: whatever the node has.
  const users = node.replicas.filter((replica) => replica.gpus === null || replica.gpus.includes(gpu.uuid));
  return (
    <Card title={t`GPU ${gpu.index}`} hint={gpu.driver_version ? t`${gpu.name}, driver ${gpu.driver_version}` : gpu.name}>
      <div className={classes["readings"]}>
        {readingsOf(gpu, node.name, course).map((reading) => (
          <Panel key={reading.id} reading={reading} gpu={gpu} />
        ))}
      </div>
      <ul className={classes["users"]}>
        {users.map((replica) => (
          <li key={replica.id}>
            <Link {...paths.endpointTab(replica.endpoint, "deployments")} className="link">
              {replica.endpoint} / {replica.deployment} {replica.ordinal}
            </Link>
            <Status plain state={replica.state} />
          </li>
        ))}
        {users.length === 0 ? (
          <li className="muted">
            <Trans>No replica may use it</Trans>
          </li>
        ) : null}
      </ul>
      <p className={`secondary mono ${classes["uuid"]}`}>
        {gpu.uuid}
        <CopyButton text={gpu.uuid} label={t`GPU id`} />
      </p>
    </Card>
  );
}

export function NodeGpusTab() {
  const node = useNode();
  const course = useQuery(gpuCourseQuery(node.name, seriesOf(node.info.gpus.map((gpu) => gpu.index)))).data;
  if (node.info.gpus.length === 0) {
    return (
      <Card>
        <EmptyState
          icon={<IconCpu2 size={30} stroke={1.4} />}
          title={t`This node has no GPU`}
          detail={t`Models run on its processors. If the machine has a GPU, nvidia-smi must work for the user that runs the agent.`}
        />
      </Card>
    );
  }
  return (
    <div className={classes["gpus"]}>
      {node.info.gpus.map((gpu) => (
        <GpuCard key={gpu.uuid} gpu={gpu} node={node} course={course} />
      ))}
    </div>
  );
}

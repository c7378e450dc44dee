/** The GPUs, each with what may use it. */
import { IconCpu2 } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { Gpu, NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CopyButton } from "@/components/copy";
import { EmptyState } from "@/components/empty-state";
import { bytes, percent } from "@/components/format";
import { Meter } from "@/components/meter";
import { Status } from "@/components/status";
import { useNode } from "../hooks/use-node";
import { share } from "../share";
import classes from "./node-page.module.css";

function GpuCard({ gpu, node }: { gpu: Gpu; node: NodeItem }) {
  // Null: whatever the node has.
  const users = node.replicas.filter((replica) => replica.gpus === null || replica.gpus.includes(gpu.uuid));
  return (
    <Card title={`GPU ${gpu.index}`} hint={gpu.name}>
      <div className={classes["meters"]}>
        <Meter
          label="Memory"
          share={share(gpu.memory_used_bytes, gpu.memory_total_bytes)}
          text={`${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_total_bytes)}`}
        />
        <Meter label="Busy" share={gpu.utilization} text={percent(gpu.utilization)} />
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
        {users.length === 0 ? <li className="muted">No replica may use it</li> : null}
      </ul>
      <p className={`secondary mono ${classes["uuid"]}`}>
        {gpu.uuid} <CopyButton text={gpu.uuid} label="GPU id" />
      </p>
    </Card>
  );
}

export function NodeGpusTab() {
  const node = useNode();
  if (node.info.gpus.length === 0) {
    return (
      <Card>
        <EmptyState
          icon={<IconCpu2 size={30} stroke={1.4} />}
          title="This node has no GPU"
          detail="Models run on its processors. If the machine has a GPU, nvidia-smi must work for the user that runs the agent."
        />
      </Card>
    );
  }
  return (
    <div className={classes["gpus"]}>
      {node.info.gpus.map((gpu) => (
        <GpuCard key={gpu.uuid} gpu={gpu} node={node} />
      ))}
    </div>
  );
}

/** Nodes with their memory, one bar each. */
import { t } from "@lingui/core/macro";
import { Link } from "@tanstack/react-router";
import type { Overview } from "@/api/types";
import { paths } from "@/app/paths";
import { bytes } from "@/components/format";
import { Meter } from "@/components/meter";
import { Status } from "@/components/status";
import classes from "./node-strip.module.css";

export function NodeStrip({ nodes }: { nodes: Overview["nodes"] }) {
  return (
    <ul className={classes["list"]}>
      {nodes.map((node) => (
        <li key={node.id}>
          <Link {...paths.node(node.name)} className={classes["row"]}>
            <span className={classes["name"]}>{node.name}</span>
            <Status plain state={node.cordoned && node.state === "online" ? "cordoned" : node.state} />
            <span className={classes["meters"]}>
              {node.info.gpus.length > 0 ? (
                node.info.gpus.map((gpu) => (
                  <Meter
                    key={gpu.index}
                    label={t`GPU ${gpu.index}`}
                    share={gpu.memory_total_bytes > 0 ? gpu.memory_used_bytes / gpu.memory_total_bytes : null}
                    text={t`${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_total_bytes)}`}
                  />
                ))
              ) : (
                <Meter
                  label={t`Memory`}
                  share={node.info.memory_total_bytes > 0 ? node.info.memory_used_bytes / node.info.memory_total_bytes : null}
                  text={t`${bytes(node.info.memory_used_bytes)} of ${bytes(node.info.memory_total_bytes)}`}
                />
              )}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

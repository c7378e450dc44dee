/** The six panels of an endpoint: what is compared depends on whether one deployment or all are chosen. */
import { useEffect, useMemo, useState } from "react";
import { Button } from "@mantine/core";
import { IconZoomReset } from "@tabler/icons-react";
import { ChartGroup } from "@/components/charts/chart-group";
import { LiveChart } from "@/components/charts/live-chart";
import { deploymentStyles } from "@/components/charts/palette";
import type { Line } from "@/components/charts/plot";
import { ALL, metricKey, type Metric } from "@/live/metric-keys";
import type { Series } from "@/live/series";
import { BatchPanel } from "./batch-panel";
import classes from "./live-panels.module.css";

export interface LivePanelsProps {
  endpoint: string;
  deployments: string[];
  series: Series;
  /** A deployment, or `all`. */
  scope: string;
  range: number;
  dimmed: boolean;
}

function perDeployment(metric: Metric, deployments: string[], scope: string): Line[] {
  const styles = deploymentStyles(deployments);
  const shown = scope === ALL ? deployments : [scope];
  return shown.map((name, index) => ({
    key: metricKey(metric, name),
    label: name,
    fill: index === 0,
    ...(styles.get(name) ?? { color: "s1" as const }),
  }));
}

function usePanels(deployments: string[], scope: string) {
  const names = deployments.join("\n");
  return useMemo(() => {
    const list = names === "" ? [] : names.split("\n");
    const of = (metric: Metric, label: string, color: Line["color"]): Line => ({ key: metricKey(metric, scope), label, color });
    return {
      throughput: perDeployment("inference_rate", list, scope),
      memory: perDeployment("memory_bytes", list, scope),
      latency: [of("p99_us", "p99", "s2"), of("p95_us", "p95", "s5"), of("p50_us", "p50", "s1")],
      time: [
        of("queue_us", "queue", "s2"),
        of("compute_input_us", "input", "s6"),
        of("compute_infer_us", "compute", "s1"),
        of("compute_output_us", "output", "s4"),
      ],
      errors: [of("errors_5xx", "5xx", "s2"), of("errors_4xx", "4xx", "s5")],
    };
  }, [names, scope]);
}

function ZoomReset({ group }: { group: ChartGroup }) {
  const [zoomed, setZoomed] = useState(false);
  useEffect(() => group.onZoom(() => setZoomed(group.zoom !== null)), [group]);
  if (!zoomed) return null;
  return (
    <Button
      className={classes["reset"] ?? ""}
      variant="default"
      leftSection={<IconZoomReset size={15} />}
      onClick={() => group.setZoom(null)}
    >
      Follow live values
    </Button>
  );
}

export function LivePanels({ endpoint, deployments, series, scope, range, dimmed }: LivePanelsProps) {
  const group = useMemo(() => new ChartGroup(`endpoint ${endpoint}`), [endpoint]);
  const lines = usePanels(deployments, scope);
  const shared = { series, range, group, dimmed };
  return (
    <div className={classes["wrap"]}>
      <ZoomReset group={group} />
      <div className={classes["grid"]}>
        <LiveChart
          {...shared}
          title="Throughput"
          hint="inferences per second"
          unit="inf/s"
          lines={lines.throughput}
          formula="Increase of nv_inference_count over 2 s, summed over replicas. A batch of 8 counts as 8."
        />
        <LiveChart
          {...shared}
          title="Latency"
          hint="request, at the gateway"
          unit="duration"
          lines={lines.latency}
          formula="Quantiles of the gateway's own histogram, merged over replicas, last 2 s. From the first byte received to the last byte sent."
        />
        <LiveChart
          {...shared}
          stacked
          title="Where the time goes"
          hint="mean per request, stacked"
          unit="duration"
          lines={lines.time}
          formula="Increase of the runtime's nv_inference_*_duration_us divided by the increase of successful requests, over 5 s. Each request of a batch is charged the whole batch's compute."
        />
        <BatchPanel series={series} dimmed={dimmed} />
        <LiveChart
          {...shared}
          title="Errors"
          hint="answers per second"
          unit="errors/s"
          lines={lines.errors}
          formula="Answers of the gateway with a status of 400 to 499, and of 500 to 599, per second. 4xx are the caller's, 5xx are ours."
        />
        <LiveChart
          {...shared}
          title="Memory"
          hint="resident, all replicas"
          unit="bytes"
          lines={lines.memory}
          formula="Resident memory of the runtime processes, summed over the replicas of a deployment."
        />
      </div>
    </div>
  );
}

/** The panels of an endpoint's overview: what is compared depends on whether one deployment or all are chosen. */
import { Trans } from "@lingui/react/macro";
import { useEffect, useMemo, useState } from "react";
import { Button } from "@mantine/core";
import { IconZoomReset } from "@tabler/icons-react";
import { ChartGroup } from "@/components/charts/chart-group";
import { useSeriesKeys } from "@/live/hooks";
import type { Series } from "@/live/series";
import { METRICS } from "@/metrics/registry";
import { madeOf } from "../gap-reason";
import { useEndpoint } from "../hooks/use-endpoint";
import { useGapReasons } from "../hooks/use-gap-reasons";
import { overviewPanels } from "../panels";
import { BatchPanel } from "./batch-panel";
import { FoldingPanels } from "./folding-panels";
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
      <Trans>Follow live values</Trans>
    </Button>
  );
}

export function LivePanels({ endpoint, deployments, series, scope, range, dimmed }: LivePanelsProps) {
  const group = useMemo(() => new ChartGroup(`endpoint ${endpoint}`), [endpoint]);
  const keys = useSeriesKeys(series);
  useGapReasons(group, series, madeOf(useEndpoint()));
  return (
    <div className={classes["wrap"]}>
      <ZoomReset group={group} />
      <FoldingPanels
        panels={overviewPanels({ keys, deployments, scope })}
        charts={group}
        series={series}
        range={range}
        dimmed={dimmed}
        instead={({ id }) => (id === METRICS.batch.id ? <BatchPanel series={series} dimmed={dimmed} /> : undefined)}
      />
    </div>
  );
}

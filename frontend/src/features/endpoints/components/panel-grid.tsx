/** A folding group of panels. Folded charts do not exist, so they cost nothing. */
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { ChartGroup } from "@/components/charts/chart-group";
import type { Series } from "@/live/series";
import type { PanelGroup } from "../panels";
import { FoldingPanels } from "./folding-panels";
import classes from "./panel-grid.module.css";

export interface PanelGridProps {
  group: PanelGroup;
  open: boolean;
  onToggle: () => void;
  charts: ChartGroup;
  series: Series;
  range: number;
  envelope: boolean;
  dimmed: boolean;
}

export function PanelGrid({ group, open, onToggle, charts, series, range, envelope, dimmed }: PanelGridProps) {
  const id = `panels-${group.id}`;
  return (
    <div>
      <h2 className={classes["head"]}>
        <button type="button" className={classes["toggle"]} aria-expanded={open} aria-controls={id} onClick={onToggle}>
          {open ? <IconChevronDown size={15} aria-hidden /> : <IconChevronRight size={15} aria-hidden />}
          {group.title}
          <span className="muted">{group.panels.length}</span>
        </button>
      </h2>
      <div id={id} hidden={!open}>
        {open ? (
          <FoldingPanels panels={group.panels} charts={charts} series={series} range={range} envelope={envelope} dimmed={dimmed} />
        ) : null}
      </div>
    </div>
  );
}

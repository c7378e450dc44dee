/** Charts side by side; those that are zero all the time are a line each below them, until something comes. */
import { t } from "@lingui/core/macro";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import type { ChartGroup } from "@/components/charts/chart-group";
import { isFlat } from "@/components/charts/flat";
import { LiveChart } from "@/components/charts/live-chart";
import { paced } from "@/live/paced";
import type { Series } from "@/live/series";
import type { Panel } from "../panels";
import classes from "./folding-panels.module.css";
import grid from "./live-panels.module.css";

/** Panels that come and go with each tick cannot be read. */
const EVERY_MS = 1000;
const NONE: readonly string[] = [];

export interface FoldingPanelsProps {
  panels: readonly Panel[];
  charts: ChartGroup;
  series: Series;
  range: number;
  dimmed?: boolean;
  envelope?: boolean;
  /** Drawn otherwise than by a chart over time; undefined for all others. These do not fold. */
  instead?: (panel: Panel) => ReactNode;
}

/** Ids of the panels without anything to see, looked for anew every second. */
function useFlat({ panels, charts, series, range, instead }: FoldingPanelsProps, host: RefObject<HTMLElement | null>): readonly string[] {
  const shape = JSON.stringify(panels.flatMap((panel) => (instead?.(panel) ? [] : [[panel.id, panel.lines.map(({ key }) => key)]])));
  const [flat, setFlat] = useState(NONE);
  /** Whose line had the focus, and goes. */
  const left = useRef<string | null>(null);
  useEffect(() => {
    const wanted = JSON.parse(shape) as [id: string, keys: string[]][];
    // why: nothing moves away from under the pointer or the focus; what somebody opened keeps its line.
    const isUsed = (id: string) =>
      host.current?.querySelector(`[data-panel="${CSS.escape(id)}"]:not([data-opened])`)?.matches(":hover, :focus-within") ?? false;
    return paced(series, EVERY_MS, (again) => {
      // why not while zoomed: what is beside the zoom may have something to see.
      if (charts.zoom) return;
      const since = series.ring.lastTime - range;
      const all = wanted.filter(([, keys]) => isFlat(series.ring, keys, since)).map(([id]) => id);
      const found = all.filter((id) => !isUsed(id));
      // why: it folds when it is left, also where nothing is drawn any more
      if (found.length < all.length) again();
      const focused = host.current?.querySelector<HTMLElement>("[data-line]:focus")?.dataset["line"];
      if (focused !== undefined && !found.includes(focused)) left.current = focused;
      setFlat((old) => (found.join() === old.join() ? old : found));
    });
  }, [shape, charts, series, range, host]);
  useEffect(() => {
    if (left.current === null) return;
    host.current?.querySelector<HTMLElement>(`[data-panel="${CSS.escape(left.current)}"] [role="application"]`)?.focus();
    left.current = null;
  }, [flat, host]);
  return flat;
}

export function FoldingPanels(props: FoldingPanelsProps) {
  const { panels, charts, series, range, dimmed = false, envelope = false, instead } = props;
  const host = useRef<HTMLDivElement>(null);
  const flat = useFlat(props, host);
  const [opened, setOpened] = useState(NONE);
  const folded = panels.filter(({ id }) => flat.includes(id));
  return (
    <div ref={host}>
      <div className={grid["grid"]}>
        {panels
          .filter(({ id }) => !flat.includes(id) || opened.includes(id))
          .map((panel) => {
            const { id, ...shown } = panel;
            return (
              <div key={id} data-panel={id} data-opened={flat.includes(id) ? "" : undefined} className={classes["cell"]}>
                {instead?.(panel) ?? (
                  <LiveChart {...shown} series={series} range={range} group={charts} envelope={envelope} dimmed={dimmed} />
                )}
              </div>
            );
          })}
      </div>
      {folded.length > 0 ? (
        <ul className={classes["folded"]}>
          {folded.map(({ id, title }) => {
            const open = opened.includes(id);
            return (
              <li key={id}>
                <button
                  type="button"
                  data-line={id}
                  aria-expanded={open}
                  onClick={() => setOpened(open ? opened.filter((one) => one !== id) : [...opened, id])}
                >
                  {open ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
                  {t`${title}: none in this range`}
                </button>
              </li>
            );
          })}
        </ul>
      ) : null}
    </div>
  );
}

/** What the studio knows of one metric. */
import type { Level } from "@/components/charts/level";
import type { SeriesColor } from "@/components/charts/palette";
import type { Unit } from "@/components/charts/units";

export interface MetricInfo {
  unit: Unit;
  /** Seconds over which the server takes it; 0: as it stands now. Points that are wider are their own window. */
  window: 0 | 2 | 5 | 60;
  /** Name beside others, in a legend or over a column. */
  label?: string;
  /** Of its line in a panel of several metrics; elsewhere lines have the colours of what they belong to. */
  color?: SeriesColor;

  /** What follows is for a panel or tile of its own. `id` is its name in an address. */
  id?: string;
  title?: string;
  hint?: string;
  /** How it is computed, without its window and without what several replicas make of it. */
  help?: string;
  replicas?: "summed" | "merged";
  fill?: true;
  /** Left out where nothing was ever measured. */
  rare?: true;
  levels?: readonly Level[];
}

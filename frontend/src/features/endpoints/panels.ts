/** The panels of an endpoint: what the registry of metrics says, with the lines of this endpoint. Pure. */
import { t } from "@lingui/core/macro";
import type { Level } from "@/components/charts/level";
import { deploymentStyles, LINE_STYLES, PLAIN } from "@/components/charts/palette";
import type { Line } from "@/components/charts/plot";
import type { Unit } from "@/components/charts/units";
import { ALL, batchKey, batchSizes, batchTimeKey, hostKey, hosts, metricKey } from "@/live/metric-keys";
import { GPU, gpuSeries, HOST } from "@/metrics/node";
import {
  COMBINED,
  combined,
  type CombinedName,
  helpOf,
  isOf,
  type Metric,
  METRICS,
  OF_DEPLOYMENTS,
  type Titled,
  titled,
  unitOf,
} from "@/metrics/registry";
import { SIZED } from "@/metrics/runtime";
import { METRICS_PAGE, OVERVIEW, type Shown } from "@/metrics/views";

export interface Panel {
  id: string;
  title: string;
  hint: string;
  unit: Unit;
  lines: Line[];
  formula: string;
  stacked?: boolean;
  levels?: readonly Level[];
}

export interface PanelGroup {
  id: string;
  title: string;
  panels: Panel[];
}

/** Whose figures are drawn. */
export interface Subject {
  /** Series that there are. */
  keys: readonly string[];
  deployments: readonly string[];
  /** A deployment, or `all`. */
  scope: string;
}

/** One line for each, told apart by colour and dash; more than can be told apart are left out. */
export function styled(keys: readonly { key: string; label: string }[]): Line[] {
  return keys.slice(0, LINE_STYLES.length).map((one, index) => ({ ...one, ...(LINE_STYLES[index] ?? PLAIN) }));
}

/** What the registry says of one metric, with these lines. `alone`: each is a single replica. */
export function panelOf(name: Titled, lines: Line[], alone = false): Panel {
  const { id, title, hint, levels } = titled(name);
  return { id, title, hint, unit: unitOf(name), lines, formula: helpOf(name, alone), ...(levels ? { levels } : {}) };
}

function combinedPanel(name: CombinedName, scope: string): Panel {
  const { title, hint, metrics, stacked = false } = combined(name);
  const lines = metrics.map((metric) => ({ key: metricKey(metric, scope), label: METRICS[metric].label, color: METRICS[metric].color }));
  return { id: name, title, hint, unit: unitOf(metrics[0]), lines, formula: helpOf(name), stacked };
}

/** One line per deployment, in its colour; only the chosen one when one is chosen. */
function perDeployment(metric: Metric & Titled, { deployments, scope }: Subject): Line[] {
  const styles = deploymentStyles(deployments);
  const shown = scope === ALL ? deployments : [scope];
  const { fill = false } = titled(metric);
  return shown.map((name, index) => ({
    key: metricKey(metric, name),
    label: name,
    fill: fill && index === 0,
    ...(styles.get(name) ?? PLAIN),
  }));
}

function linesOf(name: Titled, subject: Subject): Line[] {
  if (isOf(SIZED, name)) {
    const key = { batch: batchKey, batch_us: batchTimeKey }[name];
    // why the largest: with many sizes the full batches are what batching is judged by.
    return styled(
      batchSizes(subject.keys)
        .slice(-LINE_STYLES.length)
        .map((size) => ({ key: key(size), label: String(size) })),
    );
  }
  const nodes = hosts(subject.keys);
  if (isOf(HOST, name)) return styled(nodes.map(({ node }) => ({ key: hostKey(name, node), label: node })));
  if (isOf(GPU, name)) {
    const label = (node: string, index: number) => (nodes.length > 1 ? t`${node} GPU ${index}` : t`GPU ${index}`);
    return styled(
      nodes.flatMap(({ node, gpus }) => gpus.map((index) => ({ key: hostKey(gpuSeries(name, index), node), label: label(node, index) }))),
    );
  }
  return perDeployment(name, subject);
}

/** Panels of machines that there are none of are left out, and rare ones that nothing was ever measured for. */
function panelsOf(names: readonly Shown[], subject: Subject, measured: (metric: Metric) => boolean): Panel[] {
  return names.flatMap((name) => {
    if (isOf(COMBINED, name)) {
      const { rare, metrics } = combined(name);
      return rare && !metrics.some(measured) ? [] : [combinedPanel(name, subject.scope)];
    }
    if (titled(name).rare && isOf(OF_DEPLOYMENTS, name) && !measured(name)) return [];
    const panel = panelOf(name, linesOf(name, subject));
    return panel.lines.length === 0 && (isOf(HOST, name) || isOf(GPU, name)) ? [] : [panel];
  });
}

/** The groups of the metrics page; `measured` tells whether a series ever had a value. */
export const panelGroups = (subject: Subject, measured: (metric: Metric) => boolean): PanelGroup[] =>
  METRICS_PAGE.map(({ id, title, panels }) => ({ id, title, panels: panelsOf(panels, subject, measured) }));

/** The panels of the overview, of which none are rare. */
export const overviewPanels = (subject: Subject): Panel[] => panelsOf(OVERVIEW, subject, () => false);

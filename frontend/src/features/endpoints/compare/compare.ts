/** What the comparison page shows: which things, which panels, one line for each. Pure. */
import { t } from "@lingui/core/macro";
import type { Line } from "@/components/charts/plot";
import type { Endpoint, NodeItem } from "@/api/types";
import { GPU, gpuSeries } from "@/metrics/node";
import { isOf, type Titled, titled } from "@/metrics/registry";
import { COMPARED } from "@/metrics/views";
import { type Panel, panelOf, styled } from "../panels";

export const KINDS = ["deployment", "endpoint", "model", "node"] as const;
export type Kind = (typeof KINDS)[number];

/** The server compares so many at a time, and no more lines are told apart. */
export const MOST = 12;

/** Numbers of the GPUs of each node. */
export type Devices = ReadonlyMap<string, readonly number[]>;

export const devicesOf = (nodes: readonly NodeItem[]): Devices =>
  new Map(nodes.map(({ name, info }) => [name, info.gpus.map((gpu) => gpu.index)]));

const compared = (kind: Kind, panels: readonly string[]): readonly Titled[] =>
  COMPARED[kind].filter((name) => panels.includes(titled(name).id));

/** Names of the panels that a kind has, for the choice of them. */
export const panelsOf = (kind: Kind): { id: string; title: string }[] =>
  COMPARED[kind].map((name) => {
    const { id, title } = titled(name);
    return { id, title };
  });

const listOf = (text: string | undefined): string[] => [...new Set((text ?? "").split(",").filter(Boolean))];

/** Unknown names in a link are left out; what is left out altogether is everything. */
export function chosenPanels(kind: Kind, text: string | undefined): string[] {
  const all = panelsOf(kind).map((panel) => panel.id);
  const wanted = listOf(text).filter((id) => all.includes(id));
  return wanted.length > 0 ? all.filter((id) => wanted.includes(id)) : all;
}

/** The series of one panel, for each of these. */
function seriesOf(metric: Titled, ids: readonly string[], devices: Devices): { name: string; id: string; label: string }[] {
  if (!isOf(GPU, metric)) return ids.map((id) => ({ name: metric, id, label: id }));
  return ids.flatMap((id) =>
    (devices.get(id) ?? []).map((index) => ({ name: gpuSeries(metric, index), id, label: t`${id} GPU ${index}` })),
  );
}

/** By it gaps of others are told: without a request there is no latency. Machines have none. */
const TELLS_GAPS: readonly Titled[] = ["request_rate"];

/** What is asked of the server. */
export function metricsOf(kind: Kind, ids: readonly string[], panels: readonly string[], devices: Devices): string[] {
  const shown = compared(kind, panels);
  const wanted = [...shown, ...(shown.length > 0 ? COMPARED[kind].filter((name) => TELLS_GAPS.includes(name)) : [])];
  return [...new Set(wanted.flatMap((metric) => seriesOf(metric, ids, devices).map(({ name }) => name)))];
}

/** Panels of devices that none of them has are left out. */
export function comparePanels(kind: Kind, ids: readonly string[], panels: readonly string[], devices: Devices): Panel[] {
  const lines = (metric: Titled): Pick<Line, "key" | "label">[] =>
    seriesOf(metric, ids, devices).map(({ name, id, label }) => ({ key: `${name}.${kind}/${id}`, label }));
  return compared(kind, panels)
    .map((metric) => panelOf(metric, styled(lines(metric))))
    .filter((panel) => panel.lines.length > 0);
}

/** What can be compared; models are those that an endpoint serves. */
export function choices(kind: Kind, endpoints: readonly Endpoint[], nodes: readonly NodeItem[]): string[] {
  if (kind === "node") return nodes.map((node) => node.name).sort();
  if (kind === "endpoint") return endpoints.map((endpoint) => endpoint.name).sort();
  const found =
    kind === "deployment"
      ? endpoints.flatMap((endpoint) => endpoint.deployments.map((deployment) => `${endpoint.name}/${deployment.name}`))
      : endpoints.flatMap((endpoint) => endpoint.models.flatMap((model) => model.repo_models));
  return [...new Set(found)].sort();
}

/** Names in a link that the server would refuse are left out: the rest of the link still opens. */
export const chosenIds = (kind: Kind, text: string | undefined): string[] =>
  listOf(text)
    .filter((id) => kind !== "deployment" || id.split("/").length === 2)
    .slice(0, MOST);

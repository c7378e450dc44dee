/** The places in the side bar. */
import { t } from "@lingui/core/macro";
import {
  IconApi,
  IconBell,
  IconChartLine,
  IconCube,
  IconGauge,
  IconHeartbeat,
  IconHistory,
  IconListDetails,
  IconLayoutDashboard,
  IconPackages,
  IconRocket,
  IconServer2,
  IconSettings,
  IconTerminal2,
} from "@tabler/icons-react";
import type { LinkProps } from "@tanstack/react-router";
import { paths } from "@/app/paths";

export interface NavItem {
  label: string;
  icon: typeof IconApi;
  link: LinkProps;
  /** Which count is shown beside the label. */
  count?: "models" | "endpoints" | "nodes" | "alerts";
  exact?: boolean;
  /** Tells of the whole installation: who has roles in projects alone is refused there. */
  ofInstallation?: true;
  /** Also lit where the path names such a thing. */
  holds?: "id";
}

export const MAIN: NavItem[] = [
  { label: t`Overview`, icon: IconLayoutDashboard, link: paths.overview(), exact: true, ofInstallation: true },
  { label: t`Deploy`, icon: IconRocket, link: paths.deploy() },
  { label: t`Models`, icon: IconCube, link: paths.models(), count: "models" },
  { label: t`Environments`, icon: IconPackages, link: paths.environments() },
  { label: t`Endpoints`, icon: IconApi, link: paths.endpoints(), count: "endpoints" },
  { label: t`Metrics`, icon: IconChartLine, link: paths.compareMetrics() },
  { label: t`Alerts`, icon: IconBell, link: paths.alerts(), count: "alerts" },
  { label: t`Test console`, icon: IconTerminal2, link: paths.test() },
];

export const INFRASTRUCTURE: NavItem[] = [
  { label: t`Nodes`, icon: IconServer2, link: paths.nodes(), count: "nodes", ofInstallation: true },
  { label: t`Capacity`, icon: IconGauge, link: paths.capacity() },
  { label: t`Operations`, icon: IconHistory, link: paths.operations(), holds: "id" },
  { label: t`Activity`, icon: IconListDetails, link: paths.activity() },
  { label: t`System`, icon: IconHeartbeat, link: paths.system(), ofInstallation: true },
  { label: t`Settings`, icon: IconSettings, link: { to: "/settings" } },
];

/** The places in the side bar. */
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
  { label: "Overview", icon: IconLayoutDashboard, link: paths.overview(), exact: true, ofInstallation: true },
  { label: "Deploy", icon: IconRocket, link: paths.deploy() },
  { label: "Models", icon: IconCube, link: paths.models(), count: "models" },
  { label: "Environments", icon: IconPackages, link: paths.environments() },
  { label: "Endpoints", icon: IconApi, link: paths.endpoints(), count: "endpoints" },
  { label: "Metrics", icon: IconChartLine, link: paths.compareMetrics(), ofInstallation: true },
  { label: "Alerts", icon: IconBell, link: paths.alerts(), count: "alerts" },
  { label: "Test console", icon: IconTerminal2, link: paths.test() },
];

export const INFRASTRUCTURE: NavItem[] = [
  { label: "Nodes", icon: IconServer2, link: paths.nodes(), count: "nodes", ofInstallation: true },
  { label: "Capacity", icon: IconGauge, link: paths.capacity() },
  { label: "Operations", icon: IconHistory, link: paths.operations(), holds: "id" },
  { label: "Activity", icon: IconListDetails, link: paths.activity(), ofInstallation: true },
  { label: "System", icon: IconHeartbeat, link: paths.system(), ofInstallation: true },
  { label: "Settings", icon: IconSettings, link: { to: "/settings" } },
];

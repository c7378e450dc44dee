/** Where one is: section / thing. */
import { Link, useParams, useRouterState } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import classes from "./shell.module.css";

const SECTIONS = {
  "": { label: "Overview", link: paths.overview() },
  deploy: { label: "Deploy", link: paths.deploy() },
  models: { label: "Models", link: paths.models() },
  environments: { label: "Environments", link: paths.environments() },
  endpoints: { label: "Endpoints", link: paths.endpoints() },
  nodes: { label: "Nodes", link: paths.nodes() },
  capacity: { label: "Capacity", link: paths.capacity() },
  metrics: { label: "Metrics", link: paths.compareMetrics() },
  test: { label: "Test console", link: paths.test() },
  operations: { label: "Operations", link: paths.operations() },
  activity: { label: "Activity", link: paths.activity() },
  system: { label: "System", link: paths.system() },
  settings: { label: "Settings", link: paths.settings() },
} as const;

export function Breadcrumbs() {
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const params = useParams({ strict: false });
  // why: what runs or ran is one of the operations, however its address begins.
  const first = params.id ? "operations" : (pathname.split("/")[1] ?? "");
  const section = first in SECTIONS ? SECTIONS[first as keyof typeof SECTIONS] : null;
  if (!section) return <div className={classes["crumbs"]} />;
  const thing = params.name ?? (params.id ? params.id.slice(0, 8) : pathname === paths.joinNode().to ? "Join a node" : undefined);
  return (
    <nav className={classes["crumbs"]} aria-label="Breadcrumbs">
      <Link {...section.link} className={thing ? classes["crumb"] : classes["crumbHere"]}>
        {section.label}
      </Link>
      {thing ? (
        <>
          <span className="muted" aria-hidden>
            /
          </span>
          <span className={`${classes["crumbHere"]} truncate`}>{thing}</span>
        </>
      ) : null}
      {params.version ? (
        <>
          <span className="muted" aria-hidden>
            /
          </span>
          <span className={`${classes["crumbHere"]} truncate`}>version {params.version}</span>
        </>
      ) : null}
    </nav>
  );
}

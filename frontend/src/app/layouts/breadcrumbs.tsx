/** Where one is: section / thing. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Link, useParams, useRouterState } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import classes from "./shell.module.css";

const SECTIONS = {
  "": { label: t`Overview`, link: paths.overview() },
  deploy: { label: t`Deploy`, link: paths.deploy() },
  models: { label: t`Models`, link: paths.models() },
  environments: { label: t`Environments`, link: paths.environments() },
  endpoints: { label: t`Endpoints`, link: paths.endpoints() },
  nodes: { label: t`Nodes`, link: paths.nodes() },
  capacity: { label: t`Capacity`, link: paths.capacity() },
  metrics: { label: t`Metrics`, link: paths.compareMetrics() },
  alerts: { label: t`Alerts`, link: paths.alerts() },
  test: { label: t`Test console`, link: paths.test() },
  operations: { label: t`Operations`, link: paths.operations() },
  activity: { label: t`Activity`, link: paths.activity() },
  system: { label: t`System`, link: paths.system() },
  settings: { label: t`Settings`, link: paths.settings() },
} as const;

export function Breadcrumbs() {
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const params = useParams({ strict: false });
  // why: what runs or ran is one of the operations, however its address begins.
  const first = params.id ? "operations" : (pathname.split("/")[1] ?? "");
  const section = first in SECTIONS ? SECTIONS[first as keyof typeof SECTIONS] : null;
  if (!section) return <div className={classes["crumbs"]} />;
  const thing = params.name ?? (params.id ? params.id.slice(0, 8) : pathname === paths.joinNode().to ? t`Join a node` : undefined);
  return (
    <nav className={classes["crumbs"]} aria-label={t`Breadcrumbs`}>
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
          <span className={`${classes["crumbHere"]} truncate`}>
            <Trans>version {params.version}</Trans>
          </span>
        </>
      ) : null}
    </nav>
  );
}

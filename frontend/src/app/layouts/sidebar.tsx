/** The side bar: where one can go, with how much is there. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { alertCountsQuery } from "@/api/alerts";
import { countsQuery } from "@/api/operations";
import { useSeesInstallation } from "@/api/permissions";
import { paths } from "@/app/paths";
import { Logo } from "@/components/logo";
import { INFRASTRUCTURE, MAIN, type NavItem } from "./nav";
import classes from "./shell.module.css";

function NavLink({ item, count, onGo }: { item: NavItem; count: number | undefined; onGo: (() => void) | undefined }) {
  const Icon = item.icon;
  const params = useParams({ strict: false });
  const held = item.holds !== undefined && params[item.holds] !== undefined;
  return (
    <Link
      {...item.link}
      className={classes["navLink"]}
      activeOptions={{ exact: item.exact ?? false, includeSearch: false }}
      activeProps={{ "aria-current": "page" }}
      {...(held ? { "aria-current": "page" as const } : {})}
      onClick={onGo}
      title={item.label}
    >
      <Icon size={18} stroke={1.7} aria-hidden />
      <span className={classes["navLabel"]}>{item.label}</span>
      {count === undefined ? null : <span className={classes["navCount"]}>{count}</span>}
    </Link>
  );
}

export function Sidebar({ onGo }: { onGo?: () => void }) {
  const all = useSeesInstallation();
  const { data } = useQuery({ ...countsQuery(), enabled: all });
  const shown = (items: NavItem[]) => items.filter((item) => all || !item.ofInstallation);
  const alerts = useQuery(alertCountsQuery());
  // why none: a zero beside the word would be looked at each time
  const open = alerts.data?.open === 0 ? undefined : alerts.data?.open;
  const countOf = ({ count }: NavItem) => (count === "alerts" ? open : count && data ? data[count] : undefined);
  return (
    <div className={classes["sidebarInner"]}>
      <Link {...paths.overview()} className={classes["brand"]} onClick={onGo} aria-label={t`Shoal, overview`}>
        <Logo size={26} />
        <span className={classes["navLabel"]}>
          <Trans>Shoal</Trans>
        </span>
      </Link>
      <nav aria-label={t`Main`}>
        {shown(MAIN).map((item) => (
          <NavLink key={item.label} item={item} count={countOf(item)} onGo={onGo} />
        ))}
        <p className={classes["navGroup"]}>
          <Trans>Infrastructure</Trans>
        </p>
        {shown(INFRASTRUCTURE).map((item) => (
          <NavLink key={item.label} item={item} count={countOf(item)} onGo={onGo} />
        ))}
      </nav>
    </div>
  );
}

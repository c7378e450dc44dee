/** Tabs that are links: each opens in a new tab, and the back button works. */
import { Link, type LinkProps } from "@tanstack/react-router";
import classes from "./tabs.module.css";

export interface TabLink {
  label: string;
  link: LinkProps;
  count?: number;
}

export function Tabs({ tabs, label }: { tabs: TabLink[]; label: string }) {
  return (
    <nav className={classes["tabs"]} aria-label={label}>
      {tabs.map((tab) => (
        <Link
          key={tab.label}
          {...tab.link}
          className={classes["tab"]}
          activeOptions={{ exact: false, includeSearch: false }}
          activeProps={{ "aria-current": "page" }}
        >
          {tab.label}
          {tab.count !== undefined ? <span className={classes["count"]}>{tab.count}</span> : null}
        </Link>
      ))}
    </nav>
  );
}

/** Tabs that are links: each opens in a new tab, and the back button works. */
import { Link, type LinkProps, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import classes from "./tabs.module.css";

export interface TabLink {
  label: string;
  link: LinkProps;
  count?: number;
}

/** On a phone the row is longer than the screen: the tab one is on must be in sight. */
function useTabInSight() {
  const row = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => {
    const tab = row.current?.querySelector<HTMLElement>('[aria-current="page"]');
    // why not scrollIntoView: it would scroll the page as well.
    if (row.current && tab)
      row.current.scrollLeft = tab.offsetLeft - row.current.offsetLeft - (row.current.clientWidth - tab.offsetWidth) / 2;
  }, [pathname]);
  return row;
}

export function Tabs({ tabs, label }: { tabs: TabLink[]; label: string }) {
  const row = useTabInSight();
  return (
    <nav ref={row} className={classes["tabs"]} aria-label={label}>
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

/** The frame around every page behind the sign-in: side bar, top bar, keys, search. */
import { Trans } from "@lingui/react/macro";
import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { onAsCode, shownAsCode } from "@/components/as-code/as-code-store";
import type { Toggle } from "@/components/toggle";
import classes from "./shell.module.css";
import { DropAnywhere } from "./drop-anywhere";
import { Sidebar } from "./sidebar";
import { keyHelp, palette } from "./toggles";
import { Topbar } from "./topbar";
import { useShortcuts } from "./use-shortcuts";

const NavDrawer = lazy(() => import("./nav-drawer"));
const CommandPalette = lazy(() => import("@/app/palette/command-palette"));
const KeyHelp = lazy(() => import("./key-help"));
const AsCodeDrawer = lazy(() => import("@/components/as-code/as-code-drawer"));

/** Stays mounted once it was wanted: closing is drawn too. */
function useEver(now: boolean): boolean {
  const [ever, setEver] = useState(now);
  useEffect(() => {
    if (now) setEver(true);
  }, [now]);
  return now || ever;
}

const useEverOpen = (toggle: Toggle) => useEver(useSyncExternalStore(toggle.subscribe, toggle.isOpen));

export function Shell() {
  const [drawer, setDrawer] = useState(false);
  const everDrawer = useEver(drawer);
  const everPalette = useEverOpen(palette);
  const everKeys = useEverOpen(keyHelp);
  const asCode = useEver(useSyncExternalStore(onAsCode, shownAsCode) !== null);
  useShortcuts();
  return (
    <div className={classes["shell"]}>
      <a className={classes["skip"]} href="#main">
        <Trans>Skip to the content</Trans>
      </a>
      <aside className={classes["sidebar"]}>
        <Sidebar />
      </aside>
      <div className={classes["column"]}>
        <Topbar onMenu={() => setDrawer(true)} />
        <main id="main" tabIndex={-1} className={classes["main"]}>
          <Outlet />
        </main>
      </div>
      <DropAnywhere />
      <Suspense fallback={null}>
        {everDrawer ? <NavDrawer opened={drawer} onClose={() => setDrawer(false)} /> : null}
        {everPalette ? <CommandPalette /> : null}
        {everKeys ? <KeyHelp /> : null}
        {asCode ? <AsCodeDrawer /> : null}
      </Suspense>
    </div>
  );
}

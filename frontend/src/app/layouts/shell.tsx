/** The frame around every page behind the sign-in: side bar, top bar, keys, search. */
import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { onAsCode, shownAsCode } from "@/components/as-code/as-code-store";
import { DropAnywhere } from "./drop-anywhere";
import { onPalette, openPalette, paletteOpen } from "./palette-store";
import classes from "./shell.module.css";
import { Sidebar } from "./sidebar";
import { Topbar } from "./topbar";
import { useShortcuts } from "./use-shortcuts";

const NavDrawer = lazy(() => import("./nav-drawer"));
const CommandPalette = lazy(() => import("./command-palette"));
const AsCodeDrawer = lazy(() => import("@/components/as-code/as-code-drawer"));

/** Stays mounted once it was wanted: closing is drawn too. */
function useEver(now: boolean): boolean {
  const [ever, setEver] = useState(now);
  useEffect(() => {
    if (now) setEver(true);
  }, [now]);
  return now || ever;
}

export function Shell() {
  const [drawer, setDrawer] = useState(false);
  const everDrawer = useEver(drawer);
  const palette = useEver(useSyncExternalStore(onPalette, paletteOpen));
  const asCode = useEver(useSyncExternalStore(onAsCode, shownAsCode) !== null);
  useShortcuts(openPalette);
  return (
    <div className={classes["shell"]}>
      <a className={classes["skip"]} href="#main">
        Skip to the content
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
        {palette ? <CommandPalette /> : null}
        {asCode ? <AsCodeDrawer /> : null}
      </Suspense>
    </div>
  );
}

/** Keys that work everywhere: Ctrl K searches, `g` + letter goes, `/` focuses the list filter. Off while typing. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { paths } from "@/app/paths";
import { singleKeysOff } from "@/components/single-keys";
import { keyHelp, palette } from "./toggles";

const CHORD_MS = 1200;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select, [role=textbox], [role=combobox]"))
  );
}

/** A dialog has the keyboard to itself. */
const isDialogOpen = (): boolean => document.querySelector('[role="dialog"][aria-modal="true"]') !== null;

/** A row that is focused already keeps its own meaning of `j` and `k`; from elsewhere they enter the first list. */
function focusFirstRow(): void {
  document.querySelector<HTMLElement>("main tbody tr[tabindex]")?.focus();
}

export function useShortcuts(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let chordAt = 0;
    const go: Record<string, () => void> = {
      o: () => void navigate(paths.overview()),
      m: () => void navigate(paths.models()),
      e: () => void navigate(paths.endpoints()),
      n: () => void navigate(paths.nodes()),
      d: () => void navigate(paths.deploy()),
      t: () => void navigate(paths.test()),
      a: () => void navigate(paths.activity()),
      s: () => void navigate(paths.system()),
    };
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        palette.open();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || singleKeysOff() || isDialogOpen()) return;
      if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("[data-list-filter]");
        if (filter) {
          event.preventDefault();
          filter.focus();
        }
      } else if (event.key === "?") {
        keyHelp.open();
      } else if (event.key === "g") {
        chordAt = event.timeStamp;
        return;
      } else if (event.timeStamp - chordAt < CHORD_MS) {
        go[event.key]?.();
      } else if (event.key === "j" && !(event.target instanceof HTMLTableRowElement)) {
        focusFirstRow();
      }
      chordAt = 0;
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate]);
}

/** Keys that work everywhere: Ctrl K searches, `g` + letter goes, `/` focuses the list filter. Off while typing. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { paths } from "@/app/paths";
import { singleKeysOff } from "@/components/single-keys";

const CHORD_MS = 1200;
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select, [role=textbox], [role=combobox]"))
  );
}

export function useShortcuts(openSearch: () => void): void {
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
    };
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openSearch();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || singleKeysOff()) return;
      if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("[data-list-filter]");
        if (filter) {
          event.preventDefault();
          filter.focus();
        }
      } else if (event.key === "g") {
        chordAt = event.timeStamp;
        return;
      } else if (event.timeStamp - chordAt < CHORD_MS) go[event.key]?.();
      chordAt = 0;
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate, openSearch]);
}

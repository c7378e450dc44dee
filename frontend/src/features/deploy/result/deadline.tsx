/** When the operation fails by itself. */
import { t } from "@lingui/core/macro";
import { useEffect, useState } from "react";

/** Most are done by then, and what would be told until then reads as if they took that long. */
const QUIET_S = 30;

/** Null while there is no reason to tell it. */
export function givesUp(started: string, deadline: string, now: number): string | null {
  const [from, to] = [started, deadline].map((at) => new Date(at).getTime() / 1000) as [number, number];
  if (now / 1000 - from < Math.min(QUIET_S, (to - from) / 2)) return null;
  const seconds = Math.max(0, Math.ceil(to - now / 1000));
  if (seconds < 60) return t`gives up in ${seconds} s`;
  return t`gives up in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}

export function Deadline({ since, at }: { since: string; at: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="secondary" title={t`It fails by itself when the time is up; nothing that serves is touched.`}>
      {givesUp(since, at, now)}
    </span>
  );
}

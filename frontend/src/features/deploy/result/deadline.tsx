/** How long the operation may still take. */
import { useEffect, useState } from "react";

function left(deadline: string, now: number): string {
  const seconds = Math.max(0, Math.ceil((new Date(deadline).getTime() - now) / 1000));
  if (seconds < 60) return `${seconds} s left`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min left`;
}

export function Deadline({ at }: { at: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="secondary" title="It fails by itself when the time is up; nothing that serves is touched.">
      {left(at, now)}
    </span>
  );
}

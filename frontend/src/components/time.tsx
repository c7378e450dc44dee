/** A time: relative in the text, absolute in the tooltip. */
import { useEffect, useState } from "react";
import { relativeTime, zonedTime } from "./format";

export function Time({ at }: { at: string | null | undefined }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 15_000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={zonedTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
}

/** The newest value of one series as text, written into the page directly: a tick renders nothing. */
import { useEffect, useRef } from "react";
import { MISSING } from "@/components/format";
import type { Series } from "@/live/series";

export interface LiveValueProps {
  series: Series;
  of: string;
  format: (value: number | null) => string;
}

export function LiveValue({ series, of, format }: LiveValueProps) {
  const text = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      series.onDraw(() => {
        const words = format(series.ring.last(of));
        if (text.current && text.current.textContent !== words) text.current.textContent = words;
      }),
    [series, of, format],
  );
  return <span ref={text}>{MISSING}</span>;
}

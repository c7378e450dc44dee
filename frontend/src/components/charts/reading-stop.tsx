/** The one tab stop of a chart: its keys go to whoever reads it. */
import { t } from "@lingui/core/macro";
import type { CSSProperties, ReactNode, Ref } from "react";

export interface ReadingStopProps {
  ref?: Ref<HTMLDivElement>;
  title: string;
  /** Answers whether the key was one of the chart's. */
  onPress: (key: string, shift: boolean) => boolean;
  onLeave: () => void;
  className?: string | undefined;
  style?: CSSProperties;
  children: ReactNode;
}

export function ReadingStop({ ref, title, onPress, onLeave, className, style, children }: ReadingStopProps) {
  return (
    <div
      ref={ref}
      role="application"
      aria-roledescription={t`chart`}
      aria-label={t`${title}, read by arrow keys`}
      tabIndex={0}
      className={className}
      style={style}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !onPress(event.key, event.shiftKey)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
      onBlur={onLeave}
    >
      {children}
    </div>
  );
}

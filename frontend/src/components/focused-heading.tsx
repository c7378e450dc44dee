/** A second-level heading that takes the keyboard along: what was focused before is gone with what it belonged to. */
import { useEffect, useRef } from "react";

export interface FocusedHeadingProps {
  /** When this changes, the heading is focused. */
  of: string;
  /** Focused when it appears, too, unless somebody works elsewhere on the page. */
  appears?: boolean;
  className?: string | undefined;
  children: React.ReactNode;
}

export function FocusedHeading({ of, appears = false, className, children }: FocusedHeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const seen = useRef(appears ? null : of);
  useEffect(() => {
    if (seen.current === of) return;
    const idle = document.activeElement === null || document.activeElement === document.body;
    if (seen.current !== null || idle) heading.current?.focus();
    seen.current = of;
  }, [of]);
  return (
    <h2 ref={heading} tabIndex={-1} className={className}>
      {children}
    </h2>
  );
}

/** What few models need, folded away: its head says how it stands. */
import { useEffect, useRef } from "react";
import shared from "../deploy.module.css";
import classes from "./folded-section.module.css";

export interface FoldedSectionProps {
  title: string;
  state: string;
  badge?: React.ReactNode;
  /** Something in it must be seen to. */
  wrong?: boolean;
  children: React.ReactNode;
}

export function FoldedSection({ title, state, badge, wrong = false, children }: FoldedSectionProps) {
  const section = useRef<HTMLDetailsElement>(null);
  // Opened only: closing it over a field that was just mended would take the keyboard away from it.
  useEffect(() => {
    if (wrong && section.current) section.current.open = true;
  }, [wrong]);
  return (
    <details ref={section} className={classes["advanced"]}>
      <summary>
        <span className={classes["advancedTitle"]}>{title}</span>
        <span className="secondary">{state}</span>
        {badge}
      </summary>
      <div className={shared["advancedBody"]}>{children}</div>
    </details>
  );
}

/** What few models need, folded away: its head says how it stands. */
import classes from "../deploy.module.css";

export interface FoldedSectionProps {
  title: string;
  state: string;
  badge?: React.ReactNode;
  /** Something in it must be seen to. */
  wrong?: boolean;
  children: React.ReactNode;
}

export function FoldedSection({ title, state, badge, wrong = false, children }: FoldedSectionProps) {
  return (
    <details className={classes["advanced"]} {...(wrong ? { open: true } : {})}>
      <summary>
        <span className={classes["advancedTitle"]}>{title}</span>
        <span className="secondary">{state}</span>
        {badge}
      </summary>
      <div className={classes["advancedBody"]}>{children}</div>
    </details>
  );
}

/** Nothing here yet: one sentence, one primary action, one more line at most. */
import classes from "./states.module.css";

export interface EmptyStateProps {
  title: string;
  detail?: React.ReactNode;
  icon?: React.ReactNode;
  action?: React.ReactNode;
}

export function EmptyState({ title, detail, icon, action }: EmptyStateProps) {
  return (
    <div className={classes["empty"]}>
      {icon ? <div className={classes["emptyIcon"]}>{icon}</div> : null}
      <p className={classes["emptyTitle"]}>{title}</p>
      {detail ? <p className={classes["emptyDetail"]}>{detail}</p> : null}
      {action ? <div className={classes["emptyAction"]}>{action}</div> : null}
    </div>
  );
}

/** The bordered box that everything sits in. */
import classes from "./card.module.css";

export interface CardProps {
  title?: React.ReactNode;
  /** A quiet remark beside the title. */
  hint?: React.ReactNode;
  actions?: React.ReactNode;
  /** Children reach the card's edges (tables, lists). */
  flush?: boolean;
  children?: React.ReactNode;
  className?: string;
  /** Heading level of the title. */
  level?: 2 | 3;
}

export function Card({ title, hint, actions, flush = false, children, className, level = 2 }: CardProps) {
  const Heading = level === 2 ? "h2" : "h3";
  return (
    <section className={`${classes["card"]} ${className ?? ""}`}>
      {title || actions ? (
        <header className={classes["head"]}>
          {title ? <Heading className={classes["title"]}>{title}</Heading> : null}
          {hint ? <span className="secondary">{hint}</span> : null}
          {actions ? <div className={classes["actions"]}>{actions}</div> : null}
        </header>
      ) : null}
      <div className={flush ? undefined : classes["body"]}>{children}</div>
    </section>
  );
}

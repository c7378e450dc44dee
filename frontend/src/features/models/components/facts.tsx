/** What is known of something, a line each. */
import classes from "../models.module.css";

export type Fact = readonly [string, React.ReactNode];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className={classes["facts"]}>
      {facts.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

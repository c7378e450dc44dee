/** What was left of an error budget over the objective's window: a line that only falls, and where nothing is left. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { objectiveHistoryQuery } from "@/api/alerts";
import type { Objective, ObjectiveHistory } from "@/api/types";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import classes from "./objectives.module.css";
import { leftText } from "./words";

const WIDTH = 600;
const HEIGHT = 80;

/** The line's path and the height of zero, both in the box; a budget that is overdrawn goes below. */
function budgetPath(points: ObjectiveHistory["points"]): { path: string; zero: number } {
  const values = points.map((point) => point.budget_left ?? 1);
  const low = Math.min(0, ...values);
  const y = (value: number) => HEIGHT - ((value - low) / (1 - low)) * HEIGHT;
  const step = values.length > 1 ? WIDTH / (values.length - 1) : 0;
  const path = values.map((value, index) => `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return { path, zero: y(0) };
}

export function BudgetChart({ objective }: { objective: Objective }) {
  const { data, error, refetch } = useQuery(objectiveHistoryQuery(objective.endpoint, objective.name));
  if (error) return <ProblemCard error={error} title={t`The budget's past could not be loaded`} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={2} label={t`Loading the budget's past`} />;
  const { path, zero } = budgetPath(data.points);
  return (
    <figure className={classes["chart"]}>
      <svg
        viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t`Budget of ${objective.name} over ${plural(objective.window_days, { one: "# day", other: "# days" })}; ${leftText(objective.budget_left)} is left`}
      >
        <line x1="0" x2={WIDTH} y1={zero} y2={zero} className={classes["zero"] ?? ""} />
        <path d={path} className={classes["line"] ?? ""} />
      </svg>
      <figcaption className="muted">
        <span>
          <Trans>
            {objective.name}: what was left of the budget in {plural(objective.window_days, { one: "# day", other: "# days" })}
          </Trans>
        </span>
        <span>
          <Trans>now {leftText(objective.budget_left)}</Trans>
        </span>
      </figcaption>
    </figure>
  );
}

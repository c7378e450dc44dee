/** What was left of an error budget over the objective's window: a line that only falls, and where nothing is left. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { objectiveHistoryQuery } from "@/api/alerts";
import type { Objective, ObjectiveHistory } from "@/api/types";
import { PointReader } from "@/components/charts/point-reader";
import { absoluteTime, count } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import classes from "./objectives.module.css";
import { leftText } from "./words";

const WIDTH = 600;
const HEIGHT = 80;

type Point = ObjectiveHistory["points"][number];

/** The line's path, where its points lie and the height of zero, all in the box; a budget that is overdrawn goes below. */
function budgetPath(points: readonly Point[]): { path: string; places: number[]; zero: number } {
  const values = points.map((point) => point.budget_left ?? 1);
  const low = Math.min(0, ...values);
  const y = (value: number) => HEIGHT - ((value - low) / (1 - low)) * HEIGHT;
  const step = values.length > 1 ? WIDTH / (values.length - 1) : 0;
  const places = values.map((_, index) => index * step);
  const path = values.map((value, index) => `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return { path, places, zero: y(0) };
}

function readText({ at, budget_left: left, bad, total }: Point): string {
  const moment = absoluteTime(new Date(at * 1000).toISOString());
  return t`${moment}: ${leftText(left)} left; ${count(bad)} of ${count(total)} requests were bad`;
}

export function BudgetChart({ objective }: { objective: Objective }) {
  const { data, error, refetch } = useQuery(objectiveHistoryQuery(objective.endpoint, objective.name));
  if (error) return <ProblemCard error={error} title={t`The budget's past could not be loaded`} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={2} label={t`Loading the budget's past`} />;
  const { path, places, zero } = budgetPath(data.points);
  return (
    <figure className={classes["chart"]}>
      <PointReader
        title={t`Budget of ${objective.name}`}
        points={data.points.map((point) => ({ key: String(point.at), words: readText(point) }))}
      >
        {(read) => (
          <svg
            viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={t`Budget of ${objective.name} over ${plural(objective.window_days, { one: "# day", other: "# days" })}; ${leftText(objective.budget_left)} is left`}
          >
            <line x1="0" x2={WIDTH} y1={zero} y2={zero} className={classes["zero"] ?? ""} />
            <path d={path} className={classes["line"] ?? ""} />
            {data.points.map(({ at }, index) =>
              read === String(at) ? (
                <line key={at} x1={places[index]} x2={places[index]} y1="0" y2={HEIGHT} className={classes["read"] ?? ""} />
              ) : null,
            )}
          </svg>
        )}
      </PointReader>
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

/** Six figures across the top, with their last hour where there is one. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { readSeries } from "@/api/metrics";
import type { MetricColumns, Overview } from "@/api/types";
import { Sparkline } from "@/components/charts/sparkline";
import { Num } from "@/components/num";
import { COURSE_METRICS, courseOf, tilesOf } from "../tiles";
import classes from "./tiles.module.css";

const HOUR_S = 3_600;
/** The server compares so many at a time; the busiest of those that are shown tell the course. */
const COMPARED = 12;

function useLastHour(overview: Overview): MetricColumns | undefined {
  const busiest = overview.endpoints
    .filter((endpoint) => endpoint.live.answer_rate !== null)
    .toSorted((a, b) => (b.live.answer_rate ?? 0) - (a.live.answer_rate ?? 0))
    .slice(0, COMPARED)
    .map((endpoint) => endpoint.name)
    .toSorted();
  const ids = busiest.join(",");
  return useQuery({
    queryKey: ["overview-hour", ids],
    queryFn: ({ signal }) => readSeries({ by: "endpoint", ids, metrics: COURSE_METRICS, range: HOUR_S }, signal),
    enabled: ids !== "",
    refetchInterval: 60_000,
    // The figures stand without their past.
    retry: false,
  }).data;
}

export function Tiles({ overview }: { overview: Overview }) {
  const hour = useLastHour(overview);
  const course = useMemo(() => (hour ? courseOf(hour) : null), [hour]);
  return (
    <ul className={classes["tiles"]} aria-label={t`Key figures`}>
      {tilesOf(overview, course).map((tile) => (
        <li key={tile.id} data-bad={tile.bad ? "" : undefined} title={tile.formula}>
          <span className={classes["label"]}>{tile.label}</span>
          <span className={classes["value"]}>
            <Num parts={tile.value} />
          </span>
          {tile.course ? (
            <Sparkline values={tile.course} label={t`${tile.label}, last hour`} />
          ) : (
            <span className={`${classes["note"]} truncate`}>{tile.note ?? ""}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

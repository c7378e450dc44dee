/** What would become of replicas, deployments and endpoints if these nodes were lost at once. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { whatIfQuery } from "@/api/capacity";
import type { WhatIf as Found } from "@/api/types";
import { paths } from "@/app/paths";
import { counted } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import classes from "./capacity.module.css";

function Deployment({ one }: { one: Found["deployments"][number] }) {
  return (
    <li>
      <b>
        {one.endpoint}/{one.deployment}
      </b>{" "}
      loses {one.lost} of {counted(one.replicas, "replica")}; {one.ready_left} go on answering, {one.placed} of {one.lost} find another
      place.
      {one.placed < one.lost && one.reasons.length === 0 ? <div className="secondary">There is no other node.</div> : null}
      {one.reasons.map((why) => (
        <div key={why.reason} className="secondary">
          {counted(why.nodes, "node")}: {why.reason}
        </div>
      ))}
    </li>
  );
}

function Consequences({ found }: { found: Found }) {
  if (found.replicas.length === 0) return <p role="status">Nothing runs there: nobody would notice.</p>;
  const stuck = found.replicas.filter((one) => one.to === null).length;
  return (
    <>
      <p role="status">
        {counted(found.replicas.length, "replica")} would be lost
        {stuck > 0 ? `, ${stuck} of them without another place` : ", and all of them find another place"}.
      </p>
      {found.endpoints.map((one) => (
        <p key={one.endpoint}>
          <ToneIcon tone="error" label="error" /> <Link {...paths.endpoint(one.endpoint)}>{one.endpoint}</Link>: {one.traffic_lost} % of its
          traffic fails {one.comes_back ? "until replicas have started elsewhere" : "until there is a place for them"}.
        </p>
      ))}
      <ul className={classes["list"]}>
        {found.deployments.map((one) => (
          <Deployment key={`${one.endpoint}/${one.deployment}`} one={one} />
        ))}
      </ul>
      <details>
        <summary>Where each replica would go</summary>
        <ul className={classes["list"]}>
          {found.replicas.map((one) => (
            <li key={one.replica}>
              {one.endpoint}/{one.deployment}#{one.ordinal} from {one.node} {one.to === null ? "finds no place" : `to ${one.to}`}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

export function WhatIf({ lost, onClear }: { lost: readonly string[]; onClear: () => void }) {
  const { data, error, refetch } = useQuery(whatIfQuery(lost));
  return (
    <section className={classes["loss"]} aria-label="If these nodes were lost" style={{ padding: 12 }}>
      <div>
        <b>If {lost.join(", ")} were lost</b>{" "}
        <Button size="compact-xs" variant="default" onClick={onClear}>
          Clear
        </Button>
      </div>
      {error ? (
        <ProblemCard error={error} title="It could not be told" onRetry={() => void refetch()} />
      ) : data ? (
        <Consequences found={data} />
      ) : (
        <SkeletonRows rows={2} label="Asking placement" />
      )}
    </section>
  );
}

/** What would become of replicas, deployments and endpoints if these nodes were lost at once. */
import { plural, t } from "@lingui/core/macro";
import { Plural, Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { whatIfQuery } from "@/api/capacity";
import type { WhatIf as Found } from "@/api/types";
import { paths } from "@/app/paths";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import classes from "./capacity.module.css";

function Deployment({ one }: { one: Found["deployments"][number] }) {
  const { endpoint, deployment, lost, placed, ready_left: left } = one;
  return (
    <li>
      <Trans>
        <b>
          {endpoint}/{deployment}
        </b>{" "}
        loses {lost} of <Plural value={one.replicas} one="# replica" other="# replicas" />;{" "}
        <Plural value={left} one="# goes on answering" other="# go on answering" />,{" "}
        <Plural value={placed} one={`# of ${lost} finds another place`} other={`# of ${lost} find another place`} />.
      </Trans>
      {one.placed < one.lost && one.reasons.length === 0 ? (
        <div className="secondary">
          <Trans>There is no other node.</Trans>
        </div>
      ) : null}
      {one.reasons.map((why) => (
        <div key={why.reason} className="secondary">
          {plural(why.nodes, { one: "# node", other: "# nodes" })}: {why.reason}
        </div>
      ))}
    </li>
  );
}

const replicaName = (one: Found["replicas"][number]): string => `${one.endpoint}/${one.deployment}#${one.ordinal}`;

function Consequences({ found }: { found: Found }) {
  if (found.replicas.length === 0)
    return (
      <p role="status">
        <Trans>Nothing runs there: nobody would notice.</Trans>
      </p>
    );
  const stuck = found.replicas.filter((one) => one.to === null).length;
  return (
    <>
      <p role="status">
        {stuck > 0
          ? t`${plural(found.replicas.length, { one: "# replica", other: "# replicas" })} would be lost, ${stuck} of them without another place.`
          : t`${plural(found.replicas.length, { one: "# replica", other: "# replicas" })} would be lost, and all of them find another place.`}
      </p>
      {found.endpoints.map((one) => (
        <p key={one.endpoint}>
          <ToneIcon tone="error" label={t`error`} /> <Link {...paths.endpoint(one.endpoint)}>{one.endpoint}</Link>
          {": "}
          {one.comes_back
            ? t`${one.traffic_lost} % of its traffic fails until replicas have started elsewhere.`
            : t`${one.traffic_lost} % of its traffic fails until there is a place for them.`}
        </p>
      ))}
      <ul className={classes["list"]}>
        {found.deployments.map((one) => (
          <Deployment key={`${one.endpoint}/${one.deployment}`} one={one} />
        ))}
      </ul>
      <details>
        <summary>
          <Trans>Where each replica would go</Trans>
        </summary>
        <ul className={classes["list"]}>
          {found.replicas.map((one) => (
            <li key={one.replica}>
              {one.to === null
                ? t`${replicaName(one)} from ${one.node} finds no place`
                : t`${replicaName(one)} from ${one.node} to ${one.to}`}
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
    <section className={classes["loss"]} aria-label={t`If these nodes were lost`} style={{ padding: 12 }}>
      <div>
        <b>
          <Trans>If {lost.join(", ")} were lost</Trans>
        </b>{" "}
        <Button size="compact-xs" variant="default" onClick={onClear}>
          <Trans>Clear</Trans>
        </Button>
      </div>
      {error ? (
        <ProblemCard error={error} title={t`It could not be told`} onRetry={() => void refetch()} />
      ) : data ? (
        <Consequences found={data} />
      ) : (
        <SkeletonRows rows={2} label={t`Asking placement`} />
      )}
    </section>
  );
}

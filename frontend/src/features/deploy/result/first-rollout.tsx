/** The rollout that was asked for with a deployment: how far it is, or why it has not begun. */
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { latestRolloutQuery } from "@/api/rollouts";
import type { DeployResult, Operation } from "@/api/types";
import { paths } from "@/app/paths";
import { Status } from "@/components/status";
import classes from "../deploy.module.css";
import { FirstTraffic } from "./first-traffic";

export function FirstRollout({ stage, result }: { stage: Operation["stages"][number]; result: DeployResult }) {
  const { endpoint, deployment } = result;
  const begun = typeof result.rollout === "string";
  const { data } = useQuery({ ...latestRolloutQuery(endpoint), enabled: begun });
  if (!begun) {
    return (
      <>
        <p className={classes["hint"]} data-tone="error" role="status">
          <Trans>{deployment} is ready and has no traffic: its rollout did not begin.</Trans> {stage.detail}
        </p>
        <FirstTraffic endpoint={endpoint} deployment={deployment} />
      </>
    );
  }
  // A later one is not what was asked for here.
  const rollout = data?.id === result.rollout ? data : null;
  return (
    <div className={classes["sampleHead"]}>
      <Button variant="default" renderRoot={(props) => <Link {...paths.endpoint(endpoint)} {...props} />}>
        <Trans>Follow the rollout</Trans>
      </Button>
      {rollout ? <Status state={rollout.state} /> : null}
      <span className={classes["hint"]} role="status">
        {rollout ? (
          <>
            <Trans>
              {deployment} has {rollout.percent} % of the traffic.
            </Trans>{" "}
            {rollout.reason}
          </>
        ) : (
          stage.detail
        )}
      </span>
    </div>
  );
}

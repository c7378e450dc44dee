/** A deployment that is ready: the next step is to give it traffic, or more of it, as any change of traffic is made. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { endpointQuery } from "@/api/endpoints";
import { paths } from "@/app/paths";
import { RefusingLink } from "@/components/refusing-button";
import classes from "../deploy.module.css";
import { FIRST_SHARE, sharesText } from "../draft/first-traffic";

export function FirstTraffic({ endpoint, deployment }: { endpoint: string; deployment: string }) {
  const { data } = useQuery(endpointQuery(endpoint));
  if (!data) return null;
  const has = data.traffic[deployment] ?? 0;
  const now = sharesText(data.traffic) || t`nobody`;
  if (has === 100) {
    return (
      <p className={classes["hint"]} role="status">
        <Trans>Traffic: {now}.</Trans>
      </p>
    );
  }
  const beside = Object.values(data.traffic).some((each) => each > 0);
  const share = has === 0 && beside ? FIRST_SHARE : 100;
  return (
    <div className={classes["sampleHead"]}>
      <RefusingLink needs="deploy" variant="default" link={paths.endpointTraffic(endpoint, deployment, share)}>
        <Trans>Send {share} % traffic</Trans>
      </RefusingLink>
      <span className={classes["hint"]} role={has > 0 ? "status" : undefined}>
        {has > 0 ? (
          <Trans>Traffic: {now}. The endpoint's page shows how it does beside the others.</Trans>
        ) : (
          <Trans>Now: {now}. You see first what moves, and then how it does.</Trans>
        )}
      </span>
    </div>
  );
}

/** A deployment that is ready without traffic: the next step is to give it some, as any change of traffic is made. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { endpointQuery } from "@/api/endpoints";
import { paths } from "@/app/paths";
import { RefusingLink } from "@/components/refusing-button";
import classes from "../deploy.module.css";

const FIRST_SHARE = 10;

const words = (traffic: Readonly<Record<string, number>>): string =>
  Object.entries(traffic)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${name} ${share} %`)
    .join(", ") || t`nobody`;

export function FirstTraffic({ endpoint, deployment }: { endpoint: string; deployment: string }) {
  const { data } = useQuery(endpointQuery(endpoint));
  if (!data) return null;
  if ((data.traffic[deployment] ?? 0) > 0) {
    return (
      <p className={classes["hint"]} role="status">
        <Trans>Traffic: {words(data.traffic)}.</Trans>
      </p>
    );
  }
  const share = Object.values(data.traffic).some((each) => each > 0) ? FIRST_SHARE : 100;
  return (
    <div className={classes["sampleHead"]}>
      <RefusingLink needs="deploy" variant="default" link={paths.endpointTraffic(endpoint, deployment, share)}>
        <Trans>Send {share} % traffic</Trans>
      </RefusingLink>
      <span className={classes["hint"]}>
        <Trans>Now: {words(data.traffic)}. You see first what moves, and then how it does.</Trans>
      </span>
    </div>
  );
}

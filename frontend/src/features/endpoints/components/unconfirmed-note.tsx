/** What gateways have not confirmed yet: they are about to, or one is silent and may go on by what was before. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { LinkButton } from "@/components/link-button";
import { Status } from "@/components/status";
import { Time } from "@/components/time";

/** Gateways are about to confirm the newest traffic, keys and settings: none of them is silent. */
export const isBeingRouted = ({ routed, unconfirmed }: Endpoint): boolean => !routed && unconfirmed.length === 0;

export function RoutingStatus({ endpoint }: { endpoint: Endpoint }) {
  if (!isBeingRouted(endpoint)) return null;
  return <Status state={t`Routing`} tone="info" title={t`Gateways have not confirmed the newest traffic, keys and settings yet`} />;
}

export function UnconfirmedNote({ endpoint }: { endpoint: Endpoint }) {
  const [first] = endpoint.unconfirmed;
  if (first === undefined) return null;
  const names = endpoint.unconfirmed.map(({ gateway }) => gateway).join(", ");
  return (
    <p role="status">
      <Status state={t`Not confirmed by ${names}`} tone="warn" />{" "}
      <Trans>
        Silent since <Time at={first.silent_since} />: its Envoy may go on by the keys and the traffic of before.{" "}
      </Trans>
      <LinkButton {...paths.system()} variant="default">
        <Trans>System</Trans>
      </LinkButton>
    </p>
  );
}

/** One request: where its time went, who answered it, and what to tell the caller. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { requestQuery } from "@/api/requests";
import type { SeenRequest } from "@/api/types";
import { paths } from "@/app/paths";
import { CopyField } from "@/components/copy";
import { bytes, MISSING } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { SkeletonRows } from "@/components/skeleton";
import { serverText } from "@/i18n/server-text";
import classes from "./request-details.module.css";
import { rowsOf, SHORT, statusText, storyOf } from "./requests";
import { Waterfall } from "./waterfall";

function factsOf(request: SeenRequest): [string, string][] {
  const replica = request.replica ? t`${request.replica} on ${request.node}` : request.host ? t`gone, it was ${request.host}` : MISSING;
  return [
    [t`Time`, new Date(request.at * 1000).toISOString()],
    [t`Call`, `${request.method} ${request.path}${request.as_json ? t`, tensors as JSON` : ""}`],
    [t`Status`, statusText(request)],
    [t`Deployment`, request.deployment || t`none: the gateway answered by itself`],
    [t`Replica`, replica],
    [t`Tries`, request.attempts > 0 ? plural(request.attempts, { one: "# replica", other: "# replicas" }) : MISSING],
    [t`Sent and taken`, `${bytes(request.request_bytes)}, ${bytes(request.response_bytes)}`],
    [t`The gateway says`, [request.flags, request.details].filter(Boolean).join(" ") || MISSING],
  ];
}

export interface RequestDetailsProps {
  endpoint: string;
  /** Null: nothing is asked. */
  request: SeenRequest | null;
  onClose: () => void;
}

/** Others that were executed with it: each a link to what is kept of it. */
function Shared({ endpoint, ids }: { endpoint: string; ids: readonly string[] }) {
  if (ids.length === 0) return null;
  return (
    <p className="secondary">
      <Trans>Shared its batch with </Trans>
      {ids.map((id, at) => (
        <span key={id}>
          {at > 0 ? ", " : null}
          <Link {...paths.endpointRequest(endpoint, id)} className="mono" title={id}>
            {id.slice(0, SHORT)}
          </Link>
        </span>
      ))}
      <Trans>, and with others that nobody kept, if the batch was larger.</Trans>
    </p>
  );
}

function Way({ endpoint, request }: { endpoint: string; request: SeenRequest }) {
  const { data, error, refetch } = useQuery(requestQuery(endpoint, request.id));
  if (error) return <ProblemCard error={error} title={t`Where its time went could not be loaded`} onRetry={() => void refetch()} />;
  const story = storyOf(data, request);
  if (!story) return <SkeletonRows rows={6} label={t`Loading where its time went`} />;
  const rows = rowsOf(story.bars, story.trace?.spans ?? []);
  return (
    <>
      {rows.length > 0 ? (
        <Waterfall rows={rows} />
      ) : (
        <p className="secondary">
          <Trans>It has no time of its own: it is a stream, or the gateway refused it.</Trans>
        </p>
      )}
      {story.told ? <p className="secondary">{serverText(story.told)}</p> : null}
      {story.trace && story.trace.left_out > 0 ? (
        <p className="secondary">
          {plural(story.trace.left_out, {
            one: "# further step or call is not shown.",
            other: "# further steps and calls are not shown.",
          })}
        </p>
      ) : null}
      <Shared endpoint={endpoint} ids={story.trace?.shared_with ?? []} />
    </>
  );
}

export function RequestDetails({ endpoint, request, onClose }: RequestDetailsProps) {
  return (
    <Modal opened={request !== null} onClose={onClose} title={t`Request`} size={760} closeButtonProps={{ "aria-label": t`Close` }}>
      {request ? (
        <>
          <CopyField text={request.id} label="x-request-id" />
          <Way endpoint={endpoint} request={request} />
          <dl className={classes["facts"]}>
            {factsOf(request).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          {request.deployment ? (
            <LinkButton {...paths.endpointLogs(endpoint, request.deployment, request.replica || undefined)} variant="default" size="xs">
              {request.replica ? t`Logs of the replica` : t`Logs of ${request.deployment}`}
            </LinkButton>
          ) : null}{" "}
          {request.deployment ? (
            <RefusingLink
              needs="deploy"
              link={paths.endpointReplay(endpoint, request.deployment, request.id, request.at)}
              variant="default"
              size="xs"
            >
              <Trans>Open in console</Trans>
            </RefusingLink>
          ) : null}
        </>
      ) : null}
    </Modal>
  );
}

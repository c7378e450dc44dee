/** One request: where its time went, who answered it, and what to tell the caller. */
import { Modal } from "@mantine/core";
import type { SeenRequest } from "@/api/types";
import { paths } from "@/app/paths";
import { CopyField } from "@/components/copy";
import { bytes, counted, duration, MISSING, percent } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { Meter } from "@/components/meter";
import classes from "./request-details.module.css";
import { statusText, waysOf } from "./requests";

function factsOf(request: SeenRequest): [string, string][] {
  const replica = request.replica ? `${request.replica} on ${request.node}` : request.host ? `gone, it was ${request.host}` : MISSING;
  return [
    ["Time", new Date(request.at * 1000).toISOString()],
    ["Call", `${request.method} ${request.path}${request.as_json ? ", tensors as JSON" : ""}`],
    ["Status", statusText(request)],
    ["Deployment", request.deployment || "none: the gateway answered by itself"],
    ["Replica", replica],
    ["Tries", request.attempts > 0 ? counted(request.attempts, "replica") : MISSING],
    ["Sent and taken", `${bytes(request.request_bytes)}, ${bytes(request.response_bytes)}`],
    ["The gateway says", [request.flags, request.details].filter(Boolean).join(" ") || MISSING],
  ];
}

export interface RequestDetailsProps {
  endpoint: string;
  /** Null: nothing is asked. */
  request: SeenRequest | null;
  onClose: () => void;
}

export function RequestDetails({ endpoint, request, onClose }: RequestDetailsProps) {
  const took = request?.duration_us ?? null;
  return (
    <Modal opened={request !== null} onClose={onClose} title="Request" size={620} closeButtonProps={{ "aria-label": "Close" }}>
      {request ? (
        <>
          <CopyField text={request.id} label="x-request-id" />
          {took === null || took === 0 ? (
            <p className="secondary">It has no time of its own: it is a stream, or the gateway refused it.</p>
          ) : (
            <div className={classes["ways"]}>
              {waysOf(request).map((way) => (
                <Meter
                  part
                  key={way.label}
                  label={way.label}
                  share={way.us / took}
                  text={`${duration(way.us)}, ${percent(way.us / took)}`}
                />
              ))}
            </div>
          )}
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
              Logs of {request.replica ? "the replica" : request.deployment}
            </LinkButton>
          ) : null}
        </>
      ) : null}
    </Modal>
  );
}

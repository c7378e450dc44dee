/** Why is it slow? Where a mean request's time went in the last minute, the likeliest causes, and where each is changed. */
import { Button, Modal } from "@mantine/core";
import { IconStethoscope } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { readBottlenecks } from "@/api/bottlenecks";
import type { BottleneckFinding, BottleneckPart, Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { counted, duration, percent } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { Meter } from "@/components/meter";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import classes from "./why-slow.module.css";

/** Names of the parts as people read them; the order is the server's. */
const PARTS: Readonly<Record<string, string>> = {
  client_sends: "Client sends",
  gateway: "Gateway and network",
  protocol: "Decoding and encoding",
  queue: "Queue",
  compute_input: "Batch made",
  compute_infer: "Model",
  compute_output: "Batch split",
  client_takes: "Client takes the answer",
};

function ChangeLink({ endpoint, deployment, finding }: { endpoint: Endpoint; deployment: string; finding: BottleneckFinding }) {
  const model = endpoint.deployments.find((one) => one.name === deployment);
  const shared = { variant: "default", size: "xs" } as const;
  switch (finding.area) {
    case "config":
      return model ? (
        <LinkButton {...paths.modelTab(model.model, model.version, "config")} {...shared}>
          Edit the configuration
        </LinkButton>
      ) : null;
    case "scale":
      return (
        <LinkButton {...paths.endpointTab(endpoint.name, "deployments")} {...shared}>
          Change the replicas
        </LinkButton>
      );
    case "nodes":
      return (
        <LinkButton {...paths.nodes()} {...shared}>
          Look at the nodes
        </LinkButton>
      );
    case "client":
      return (
        <LinkButton {...paths.endpointTab(endpoint.name, "consume")} {...shared}>
          How to call it
        </LinkButton>
      );
    default:
      return null;
  }
}

function Parts({ parts, total }: { parts: readonly BottleneckPart[]; total: number }) {
  return (
    <div className={classes["parts"]}>
      {parts.map((part) => (
        <Meter
          part
          key={part.name}
          label={PARTS[part.name] ?? part.name}
          share={part.us / total}
          text={`${duration(part.us)}, ${percent(part.us / total)}`}
        />
      ))}
    </div>
  );
}

export interface WhySlowProps {
  endpoint: Endpoint;
  /** Undefined: the one that answered most. */
  deployment?: string | undefined;
}

export function WhySlow({ endpoint, deployment }: WhySlowProps) {
  const look = useMutation({ mutationFn: () => readBottlenecks(endpoint.name, deployment) });
  const found = look.data;
  return (
    <>
      <Button variant="default" size="xs" leftSection={<IconStethoscope size={15} />} onClick={() => look.mutate()}>
        Why is it slow?
      </Button>
      <Modal
        opened={!look.isIdle}
        onClose={look.reset}
        title={found ? `Why ${found.deployment} of ${endpoint.name} takes so long` : `Why ${endpoint.name} takes so long`}
        size={640}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {look.error ? <ProblemCard error={look.error} title="It could not be found out" onRetry={() => look.mutate()} /> : null}
        {look.isPending ? <SkeletonRows rows={8} label="Looking at the last minute" /> : null}
        {found ? (
          <>
            <p role="status" className={classes["summary"]}>
              {found.summary}
            </p>
            {found.total_us > 0 ? <Parts parts={found.parts} total={found.total_us} /> : null}
            {found.findings.length > 0 ? (
              <ol className={classes["findings"]} aria-label="Likeliest causes">
                {found.findings.map((finding) => (
                  <li key={`${finding.code} ${finding.where}`}>
                    <h3>
                      {finding.title} <span className="secondary">({duration(finding.us)})</span>
                    </h3>
                    <p>{finding.text}</p>
                    <p>{finding.change}</p>
                    <p>
                      <ChangeLink endpoint={endpoint} deployment={found.deployment} finding={finding} />
                    </p>
                  </li>
                ))}
              </ol>
            ) : null}
            {found.total_us === 0 ? (
              <p className="secondary">Ask while there is load: send it requests, in the test console or by a client.</p>
            ) : null}
            <div className={classes["foot"]}>
              <span className="secondary">
                {counted(found.requests, "request")} of the last {found.seconds} s
                {found.refused > 0 ? `, ${counted(found.refused, "more was", "more were")} refused: a queue was full` : ""}
              </span>
              <Button variant="default" size="xs" onClick={() => look.mutate()}>
                Look again
              </Button>
            </div>
          </>
        ) : null}
      </Modal>
    </>
  );
}

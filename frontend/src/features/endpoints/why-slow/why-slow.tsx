/** Why is it slow? Where a mean request's time went in the last minute, the likeliest causes, and where each is changed. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal } from "@mantine/core";
import { IconStethoscope } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { readBottlenecks } from "@/api/bottlenecks";
import type { BottleneckFinding, BottleneckPart, Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { duration, percent } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { Meter } from "@/components/meter";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { serverText } from "@/i18n/server-text";
import classes from "./why-slow.module.css";

/** Names of the parts as people read them; the order is the server's. */
const PARTS: Readonly<Record<string, string>> = {
  client_sends: t`Client sends`,
  gateway: t`Gateway and network`,
  protocol: t`Decoding and encoding`,
  queue: t`Queue`,
  compute_input: t`Batch made`,
  compute_infer: t`Model`,
  compute_output: t`Batch split`,
  client_takes: t`Client takes the answer`,
};

function ChangeLink({ endpoint, deployment, finding }: { endpoint: Endpoint; deployment: string; finding: BottleneckFinding }) {
  const model = endpoint.deployments.find((one) => one.name === deployment);
  const shared = { variant: "default", size: "xs" } as const;
  switch (finding.area) {
    case "config":
      return model ? (
        <LinkButton {...paths.modelTab(model.model, model.version, "config")} {...shared}>
          <Trans>Edit the configuration</Trans>
        </LinkButton>
      ) : null;
    case "scale":
      return (
        <LinkButton {...paths.endpointTab(endpoint.name, "deployments")} {...shared}>
          <Trans>Change the replicas</Trans>
        </LinkButton>
      );
    case "nodes":
      return (
        <LinkButton {...paths.nodes()} {...shared}>
          <Trans>Look at the nodes</Trans>
        </LinkButton>
      );
    case "client":
      return (
        <LinkButton {...paths.endpointTab(endpoint.name, "consume")} {...shared}>
          <Trans>How to call it</Trans>
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
        <Trans>Why is it slow?</Trans>
      </Button>
      <Modal
        opened={!look.isIdle}
        onClose={look.reset}
        title={found ? t`Why ${found.deployment} of ${endpoint.name} takes so long` : t`Why ${endpoint.name} takes so long`}
        size={640}
        closeButtonProps={{ "aria-label": t`Close` }}
      >
        {look.error ? <ProblemCard error={look.error} title={t`It could not be found out`} onRetry={() => look.mutate()} /> : null}
        {look.isPending ? <SkeletonRows rows={8} label={t`Looking at the last minute`} /> : null}
        {found ? (
          <>
            <p role="status" className={classes["summary"]}>
              {found.summary}
            </p>
            {found.total_us > 0 ? <Parts parts={found.parts} total={found.total_us} /> : null}
            {found.findings.length > 0 ? (
              <ol className={classes["findings"]} aria-label={t`Likeliest causes`}>
                {found.findings.map((finding) => (
                  <li key={`${finding.code} ${finding.where}`}>
                    <h3>
                      {serverText(finding.title)} <span className="secondary">({duration(finding.us)})</span>
                    </h3>
                    <p>{finding.text}</p>
                    <p>{serverText(finding.change)}</p>
                    <p>
                      <ChangeLink endpoint={endpoint} deployment={found.deployment} finding={finding} />
                    </p>
                  </li>
                ))}
              </ol>
            ) : null}
            {found.total_us === 0 ? (
              <p className="secondary">
                <Trans>Ask while there is load: send it requests, in the test console or by a client.</Trans>
              </p>
            ) : null}
            <div className={classes["foot"]}>
              <span className="secondary">
                <Trans>
                  {plural(found.requests, { one: "# request", other: "# requests" })} of the last {found.seconds} s
                  {found.refused > 0
                    ? t`, ${plural(found.refused, { one: "# more was", other: "# more were" })} refused: a queue was full`
                    : ""}
                </Trans>
              </span>
              <Button variant="default" size="xs" onClick={() => look.mutate()}>
                <Trans>Look again</Trans>
              </Button>
            </div>
          </>
        ) : null}
      </Modal>
    </>
  );
}

/** Joining a node: one command with a single-use token, and a checklist that ticks itself off. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { createJoinToken, joinTokenQuery, nodeQuery } from "@/api/nodes";
import { useRefusal } from "@/api/permissions";
import { sessionQuery } from "@/api/session";
import type { JoinTokenMade } from "@/api/types";
import { paths } from "@/app/paths";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { CodeBlock } from "@/components/copy";
import { Forbidden } from "@/components/forbidden";
import { seconds } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { Checklist } from "../components/checklist";
import { isReady, preflight } from "../preflight";
import { joinRecipe } from "../recipes";
import classes from "./join-page.module.css";

function Countdown({ until }: { until: string }) {
  const [left, setLeft] = useState(() => new Date(until).getTime() - Date.now());
  useEffect(() => {
    const timer = setInterval(() => setLeft(new Date(until).getTime() - Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return <>{left > 0 ? t`works once, valid for ${seconds(Math.round(left / 1000))}` : t`expired: make a new one`}</>;
}

function Arrival({ made }: { made: JoinTokenMade }) {
  const { data: token = made, error } = useQuery(joinTokenQuery(made.id));
  const version = useQuery(sessionQuery()).data?.version ?? "";
  const name = token.node ?? null;
  const { data: node = null } = useQuery({ ...nodeQuery(name ?? ""), enabled: name !== null, refetchInterval: 2_000 });
  const checks = preflight(token, node, version);
  return (
    <Card title={t`2  Watch it arrive`} hint={isReady(checks) ? t`ready for models` : undefined}>
      {error ? <ProblemCard error={error} title={t`The token cannot be followed`} /> : null}
      <Checklist checks={checks} />
      {name !== null && isReady(checks) ? (
        <div className={classes["actions"]}>
          <LinkButton {...paths.deploy()}>
            <Trans>Deploy a model</Trans>
          </LinkButton>
          <LinkButton {...paths.node(name)} variant="default">
            <Trans>Open {name}</Trans>
          </LinkButton>
        </div>
      ) : null}
    </Card>
  );
}

export function JoinPage() {
  usePageTitle(t`Join a node`, t`Nodes`);
  const refusal = useRefusal("operate");
  const [made, setMade] = useState<JoinTokenMade | null>(null);
  const create = useMutation({ mutationFn: createJoinToken, onSuccess: setMade });
  return (
    <>
      <PageHeader
        title={t`Join a node`}
        subtitle={t`A node is a machine that runs models. It needs Linux, Python 3.11 and this program, and must reach this server; nothing needs to reach it but the gateway.`}
      />
      {refusal ? (
        <Forbidden needs="operate" what={t`Join tokens`} />
      ) : (
        <div className={classes["stack"]}>
          <Card
            title={t`1  Run this on the machine`}
            hint={made ? <Countdown key={made.id} until={made.expires_at} /> : t`the token in it works once`}
            actions={
              <>
                <AsCodeButton recipe={joinRecipe} />
                <Button
                  variant={made ? "default" : "filled"}
                  leftSection={<IconKey size={15} />}
                  loading={create.isPending}
                  onClick={() => create.mutate()}
                >
                  {made ? t`Make a new token` : t`Make a token`}
                </Button>
              </>
            }
          >
            {create.error ? <ProblemCard error={create.error} title={t`No token could be made`} /> : null}
            {made ? (
              <>
                <CodeBlock code={made.command} label={t`join command`} />
                {made.fingerprint ? (
                  <p className={classes["text"]} style={{ marginTop: 8 }}>
                    <Trans>
                      The token ends in the fingerprint of this server&apos;s certificate. The agent compares it before it sends the token,
                      and refuses whoever else answers.
                    </Trans>
                  </p>
                ) : null}
              </>
            ) : (
              <p className={classes["text"]}>
                <Trans>The token is shown once, and the node exchanges it for a credential of its own.</Trans>
              </p>
            )}
          </Card>
          {made ? <Arrival key={made.id} made={made} /> : null}
        </div>
      )}
    </>
  );
}

/** Joining a node: one command with a single-use token, and a list that ticks off by itself. */
import { Button } from "@mantine/core";
import { IconCheck, IconKey, IconLoader2 } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { createJoinToken, nodesQuery } from "@/api/nodes";
import type { JoinToken, NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CodeBlock } from "@/components/copy";
import { seconds } from "@/components/format";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import classes from "./join-page.module.css";

function Countdown({ until }: { until: string }) {
  const [left, setLeft] = useState(() => new Date(until).getTime() - Date.now());
  useEffect(() => {
    const timer = setInterval(() => setLeft(new Date(until).getTime() - Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return <>{left > 0 ? `valid for ${seconds(Math.round(left / 1000))}` : "expired: make a new one"}</>;
}

function Waiting({ known }: { known: ReadonlySet<string> }) {
  const { data } = useQuery({ ...nodesQuery(), refetchInterval: 2000 });
  const joined: NodeItem | undefined = data?.items.find((node) => !known.has(node.id));
  const checks = [
    { label: joined ? `${joined.name} has joined` : "Waiting for the node to join", done: joined !== undefined },
    { label: "It reports", done: joined?.state === "online" },
    {
      label: joined && joined.info.backends.length > 0 ? `It can run ${joined.info.backends.join(", ")}` : "It can run models",
      done: joined !== undefined && joined.info.backends.length > 0,
    },
  ];
  return (
    <div aria-live="polite">
      <ol className={classes["checks"]}>
        {checks.map((check) => (
          <li key={check.label} data-done={check.done ? "" : undefined}>
            {check.done ? <IconCheck size={16} aria-label="Done" /> : <IconLoader2 size={16} aria-label="Waiting" className={classes["spin"] ?? ""} />}
            {check.label}
          </li>
        ))}
      </ol>
      {joined ? (
        <Link {...paths.node(joined.name)} className="link">
          Open {joined.name}
        </Link>
      ) : null}
    </div>
  );
}

export function JoinPage() {
  usePageTitle("Join a node", "Nodes");
  const nodes = useQuery(nodesQuery());
  const [token, setToken] = useState<JoinToken | null>(null);
  const [known, setKnown] = useState<ReadonlySet<string>>(new Set());
  const create = useMutation({
    mutationFn: createJoinToken,
    onSuccess: (made) => {
      setKnown(new Set(nodes.data?.items.map((node) => node.id) ?? []));
      setToken(made);
    },
  });
  return (
    <>
      <PageHeader title="Join a node" subtitle="A node is a machine that runs models. It needs Python 3.11 and this program, and must reach this server." />
      <div className={classes["stack"]}>
        <Card
          title="1  Run this on the machine"
          hint={token ? <Countdown until={token.expires_at} /> : "the token in it works once"}
          actions={
            <Button
              variant={token ? "default" : "filled"}
              leftSection={<IconKey size={15} />}
              loading={create.isPending || nodes.isPending}
              onClick={() => create.mutate()}
            >
              {token ? "Make a new token" : "Make a token"}
            </Button>
          }
        >
          {create.error ? <ProblemCard error={create.error} title="No token could be made" /> : null}
          {token ? (
            <CodeBlock code={token.command} label="join command" />
          ) : (
            <p className={classes["text"]}>The token is shown once, and the node exchanges it for a credential of its own.</p>
          )}
        </Card>
        {token ? (
          <Card title="2  Watch it arrive">
            <Waiting known={known} />
          </Card>
        ) : null}
      </div>
    </>
  );
}

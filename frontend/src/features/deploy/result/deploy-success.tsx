/** It serves: address, key, and the first call ready to paste. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, SegmentedControl } from "@mantine/core";
import { IconEye } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { listKeys, snippetsQuery } from "@/api/endpoints";
import { problemText } from "@/api/problem";
import type { DeployResult, Operation, Snippets } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CodeBlock, CopyField } from "@/components/copy";
import { elapsed } from "@/components/format";
import { FocusedHeading } from "@/components/focused-heading";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { Skeleton } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import shared from "../deploy.module.css";
import classes from "./deploy-success.module.css";
import { FirstRollout } from "./first-rollout";
import { FirstTraffic } from "./first-traffic";
import { SampleTest } from "./sample-test";

const LANGUAGES: { value: keyof Snippets; label: string }[] = [
  { value: "curl", label: "curl" },
  { value: "python_http", label: t`Python, HTTP` },
  { value: "python_grpc", label: t`Python, gRPC` },
];

export function DeploySuccess({ operation, result }: { operation: Operation; result: DeployResult }) {
  const [key, setKey] = useState<string | null>(null);
  const staged = operation.stages.find(({ name }) => name === "rollout");
  return (
    <Card className={classes["success"] ?? ""}>
      <div className={shared["stack"]}>
        <div className={shared["resultHead"]}>
          <ToneIcon tone="ok" label={t`Done`} size={22} />
          <div>
            <FocusedHeading of={operation.id} appears className={shared["resultTitle"]}>
              <Trans>{result.endpoint} is live</Trans>
            </FocusedHeading>
            <span className="muted">
              <Trans>
                {result.model} version {result.version}, deployed as {result.deployment} in{" "}
                {elapsed(operation.created_at, operation.finished_at)}
              </Trans>
            </span>
          </div>
          <div className={shared["resultActions"]}>
            <Button renderRoot={(props) => <Link {...paths.endpoint(result.endpoint)} {...props} />}>
              <Trans>Open endpoint</Trans>
            </Button>
          </div>
        </div>
        <dl className={classes["rows"]}>
          <dt>
            <Trans>Scoring URL</Trans>
          </dt>
          <dd>
            <CopyField text={result.scoring_uri} label={t`scoring URL`} prefix="POST" />
          </dd>
          <dt>gRPC</dt>
          <dd>
            <CopyField text={result.grpc_target} label={t`gRPC target`} />
          </dd>
          <dt>
            <Trans>Key</Trans>
          </dt>
          <dd>
            <Key endpoint={result.endpoint} onShown={setKey} />
          </dd>
        </dl>
        <SampleTest endpoint={result.endpoint} deployment={result.deployment} model={result.model_name} />
        {staged ? (
          <FirstRollout stage={staged} result={result} />
        ) : (
          <FirstTraffic endpoint={result.endpoint} deployment={result.deployment} />
        )}
        <FirstCall endpoint={result.endpoint} shownKey={key} />
      </div>
    </Card>
  );
}

function Key({ endpoint, onShown }: { endpoint: string; onShown: (key: string) => void }) {
  const reveal = useMutation({ mutationFn: () => listKeys(endpoint), onSuccess: (keys) => onShown(keys.primaryKey) });
  if (reveal.data) return <CopyField text={reveal.data.primaryKey} label={t`primary key`} />;
  return (
    <>
      <RefusingButton
        needs="keys"
        variant="default"
        leftSection={<IconEye size={15} aria-hidden />}
        onClick={() => reveal.mutate()}
        loading={reveal.isPending}
      >
        <Trans>Show the primary key</Trans>
      </RefusingButton>
      <span className={shared["hint"]} data-tone={reveal.error ? "error" : undefined}>
        {reveal.error ? problemText(reveal.error) : t`who looks at keys is recorded`}
      </span>
    </>
  );
}

/** Once the key is on the page anyway, the snippets hold it: copy, paste, run. */
function withKey(code: string, endpoint: string, key: string | null): string {
  return key === null ? code : code.replaceAll(`<key of ${endpoint}>`, key);
}

function FirstCall({ endpoint, shownKey }: { endpoint: string; shownKey: string | null }) {
  const [language, setLanguage] = useState<keyof Snippets>("curl");
  const { data, error, refetch } = useQuery(snippetsQuery(endpoint));
  if (error) return <ProblemCard error={error} title={t`The first call could not be written`} onRetry={() => void refetch()} />;
  return (
    <div className={shared["stack"]} style={{ gap: 8 }}>
      <SegmentedControl
        aria-label={t`Language`}
        style={{ justifySelf: "start" }}
        value={language}
        data={LANGUAGES}
        onChange={setLanguage}
      />
      {data ? <CodeBlock code={withKey(data[language], endpoint, shownKey)} label={t`${language} call`} /> : <Skeleton height={120} />}
    </div>
  );
}

/** Ready-made calls of this endpoint, with its own tensor names. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { snippetsQuery } from "@/api/endpoints";
import { authorityQuery } from "@/api/system";
import type { Snippets } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CodeBlock, CopyField } from "@/components/copy";
import { DownloadButton } from "@/components/download-button";
import { EmptyState } from "@/components/empty-state";
import { relativeTime } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { useLastCall } from "@/inference/last-call";
import { useEndpoint } from "../hooks/use-endpoint";
import classes from "./consume-tab.module.css";

const LastInput = lazy(() => import("../components/last-input"));

const KINDS: { value: keyof Snippets; label: string; hint: string }[] = [
  { value: "curl", label: "curl", hint: t`HTTP with JSON` },
  { value: "python_requests", label: t`Python, requests`, hint: t`HTTP with JSON, no client library` },
  { value: "python_http", label: t`tritonclient, HTTP`, hint: t`stock tritonclient, binary tensors` },
  { value: "python_grpc", label: t`tritonclient, gRPC`, hint: t`stock tritonclient` },
  { value: "grpcurl", label: "grpcurl", hint: t`gRPC from a shell; messages are written down from tritonclient` },
  { value: "javascript", label: "JavaScript", hint: t`fetch, in Node or Deno` },
];

export function ConsumeTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/consume" });
  const navigate = useNavigate({ from: "/endpoints/$name/consume" });
  const kind = KINDS.find((item) => item.value === search.as) ?? KINDS[0];
  const deployed = endpoint.deployments.length > 0;
  const last = useLastCall(endpoint.name);
  const withLast = search.input === "last" && last !== null;
  const { data, error, isPending, refetch } = useQuery({ ...snippetsQuery(endpoint.name), enabled: deployed });
  // A path is of this machine; a bare name is of a file that whoever calls makes first.
  const { data: authority } = useQuery({ ...authorityQuery(), enabled: endpoint.ca_path !== "" });
  if (!kind) return null;
  if (!deployed) {
    return (
      <EmptyState
        title={t`Nothing to call yet`}
        detail={t`Programs are written with the tensors of the model that a deployment serves.`}
        action={
          <RefusingLink needs="deploy" link={paths.deploy({ endpoint: endpoint.name })}>
            <Trans>Deploy a model here</Trans>
          </RefusingLink>
        }
      />
    );
  }
  const addresses: [string, string, string][] = [
    [t`Scoring URL`, "POST", endpoint.scoring_uri],
    [t`On this machine, without TLS`, "POST", endpoint.plain_uri],
    [t`gRPC, with metadata x-shoal-endpoint: ${endpoint.name}`, "gRPC", endpoint.grpc_target],
  ];
  if (endpoint.ca_path) addresses.push([t`Certificates to trust, of all gateways`, "CA", endpoint.ca_path]);
  return (
    <div className={classes["grid"]}>
      <Card title={t`Call it`} hint={kind.hint}>
        <Segmented
          label={t`Language`}
          value={kind.value}
          options={KINDS}
          onChange={(value) => void navigate({ search: (old) => ({ ...old, as: value === "curl" ? undefined : value }), replace: true })}
        />
        <Switch
          mt={10}
          label={t`With my last test input`}
          description={
            last
              ? t`What was sent to ${last.call.model} ${relativeTime(last.at)}, not zeros.`
              : t`Send something in the test console first: its last input is kept while this tab is open.`
          }
          disabled={last === null}
          checked={withLast}
          onChange={(event) => {
            const input = event.currentTarget.checked ? ("last" as const) : undefined;
            void navigate({ search: (old) => ({ ...old, input }), replace: true });
          }}
        />
        {withLast ? (
          <Suspense fallback={<SkeletonRows rows={6} label={t`Writing the program`} />}>
            <LastInput endpoint={endpoint} last={last} language={kind.value} />
          </Suspense>
        ) : null}
        {error && !withLast ? <ProblemCard error={error} title={t`The snippets could not be made`} onRetry={() => void refetch()} /> : null}
        {isPending && !withLast ? <SkeletonRows rows={6} label={t`Loading the snippets`} /> : null}
        {data && !withLast ? <CodeBlock code={data[kind.value]} label={t`${kind.label} snippet`} /> : null}
        <p className={classes["note"]}>
          <Trans>
            Each call carries a key of this endpoint:{" "}
            <Link {...paths.endpointTab(endpoint.name, "keys")} className="link">
              show the keys
            </Link>
            . To try values first, use the{" "}
            <Link {...paths.endpointTab(endpoint.name, "test")} className="link">
              test console
            </Link>
            .
          </Trans>
        </p>
      </Card>
      <Card title={t`Addresses`}>
        <div className={classes["addresses"]}>
          {addresses.map(([label, prefix, text]) =>
            text ? (
              <div key={label}>
                <p className="secondary">{label}</p>
                <CopyField prefix={prefix} text={text} label={label} />
              </div>
            ) : null,
          )}
          {authority?.certificates ? (
            <DownloadButton
              label={t`Download certificates`}
              name="shoal-ca.pem"
              type="application/x-pem-file"
              content={() => authority.certificates}
            />
          ) : null}
        </div>
      </Card>
    </div>
  );
}

/** It did not work: our sentence first, the verbatim text second, what to do third. */
import { Button } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getDeployment } from "@/api/endpoints";
import type { ErrorDetail, Operation } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { ProblemCard } from "@/components/problem-card";
import { ToneIcon } from "@/components/status";
import classes from "../deploy.module.css";

export interface DeployFailureProps {
  operation: Operation;
  onRetry: () => void;
  retrying: boolean;
  retryFailure: unknown;
}

function detailOf(operation: Operation): ErrorDetail {
  const { error, stages } = operation;
  if (operation.state === "Canceled" && error === null)
    return { code: "Canceled", message: "This deployment was canceled." };
  if (typeof error === "string") return { code: "Failed", message: error };
  if (error !== null) return error;
  const stage = stages.find((one) => one.status === "failed");
  return {
    code: "Failed",
    message: stage ? `${stage.title} failed.` : "The operation failed.",
    detail: stage?.detail ?? null,
  };
}

export function DeployFailure({ operation, onRetry, retrying, retryFailure }: DeployFailureProps) {
  const error = detailOf(operation);
  const canceled = operation.state === "Canceled";
  return (
    <>
      <Card className={canceled ? "" : (classes["failure"] ?? "")}>
        <div className={classes["stack"]}>
          <div className={classes["resultHead"]} role={canceled ? undefined : "alert"}>
            <ToneIcon tone={canceled ? "idle" : "error"} label={canceled ? "Canceled" : "Failed"} size={22} />
            <div style={{ flex: "1 1 320px", minWidth: 0 }}>
              <h2 className={classes["resultTitle"]}>{error.message}</h2>
              <span className="muted">
                {canceled ? "What was running before still serves." : "Traffic was not touched."}
              </span>
            </div>
            <div className={classes["resultActions"]}>
              <BackToConfigure operation={operation} />
              <Button leftSection={<IconRefresh size={15} aria-hidden />} onClick={onRetry} loading={retrying}>
                Retry
              </Button>
            </div>
          </div>
          {error.detail ? (
            <pre className={classes["verbatim"]} tabIndex={0} aria-label="Verbatim message" role="region">
              {error.detail}
            </pre>
          ) : null}
          {error.hints && error.hints.length > 0 ? (
            <ul className={classes["hints"]}>
              {error.hints.map((hint) => (
                <li key={hint}>{hint}</li>
              ))}
            </ul>
          ) : null}
        </div>
      </Card>
      {retryFailure ? <ProblemCard error={retryFailure} title="It could not be tried again" /> : null}
    </>
  );
}

function BackToConfigure({ operation }: { operation: Operation }) {
  const { endpoint, deployment } = operation;
  const { data } = useQuery({
    queryKey: ["deployment", endpoint, deployment],
    queryFn: () => getDeployment(endpoint ?? "", deployment ?? ""),
    enabled: endpoint !== null && deployment !== null,
    retry: false,
  });
  if (!data) {
    return (
      <Button variant="default" renderRoot={(props) => <Link {...paths.deploy()} {...props} />}>
        New deployment
      </Button>
    );
  }
  return (
    <Button
      variant="default"
      renderRoot={(props) => (
        <Link
          to="/deploy/new"
          search={{ model: data.model, version: data.version, step: "configure", ...(endpoint ? { endpoint } : {}) }}
          {...props}
        />
      )}
    >
      Back to configure
    </Button>
  );
}

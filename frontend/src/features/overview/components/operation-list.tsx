/** The latest operations in short. */
import { Trans } from "@lingui/react/macro";
import { Link } from "@tanstack/react-router";
import type { Overview } from "@/api/types";
import { paths } from "@/app/paths";
import { elapsed } from "@/components/format";
import { operationTitle } from "@/components/operation-titles";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import classes from "./operation-list.module.css";

export function OperationList({ operations }: { operations: Overview["recent_operations"] }) {
  if (operations.length === 0)
    return (
      <p className={classes["none"]}>
        <Trans>No operations yet</Trans>
      </p>
    );
  return (
    <ul className={classes["list"]}>
      {operations.map((operation) => (
        <li key={operation.id}>
          <Link {...paths.operation(operation.id)} className={classes["row"]}>
            <Status plain state={operation.state} />
            <span className="truncate">
              <b>{operationTitle(operation)}</b>
              {operation.stage ? <span className="muted"> · {operation.stage}</span> : null}
            </span>
            <span className="muted">{elapsed(operation.created_at, operation.finished_at)}</span>
            <span className={classes["when"]}>
              <Time at={operation.created_at} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

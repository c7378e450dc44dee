/** A failed call on the page: what happened, what to do, retry, and the id to quote. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { toProblem } from "@/api/problem";
import { CopyButton } from "./copy";
import classes from "./states.module.css";
import { ToneIcon } from "./status";

export interface ProblemCardProps {
  error: unknown;
  /** What could not be done: "The models could not be loaded". */
  title?: string;
  onRetry?: () => void;
}

export function ProblemCard({ error, title, onRetry }: ProblemCardProps) {
  const problem = toProblem(error);
  const id = problem.requestId;
  return (
    <div className={classes["problem"]} role="alert">
      <ToneIcon tone="error" label={t`Error`} />
      <div className={classes["problemBody"]}>
        <p className={classes["problemTitle"]}>{title ?? problem.title}</p>
        {title && problem.title !== title ? <p>{problem.title}</p> : null}
        {problem.detail ? <p className={classes["problemDetail"]}>{problem.detail}</p> : null}
        {problem.hints.length > 0 ? (
          <ul className={classes["hints"]}>
            {problem.hints.map((hint) => (
              <li key={hint}>{hint}</li>
            ))}
          </ul>
        ) : null}
        <p className="secondary">
          <span className="mono">{problem.code}</span>
          {id ? (
            <>
              {" · "}
              <Trans>
                request <span className="mono">{id}</span>
              </Trans>{" "}
              <CopyButton text={id} label={t`request id`} />
            </>
          ) : null}
        </p>
      </div>
      {onRetry ? (
        <Button variant="default" leftSection={<IconRefresh size={15} />} onClick={onRetry}>
          <Trans>Retry</Trans>
        </Button>
      ) : null}
    </div>
  );
}

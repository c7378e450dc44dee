/** What the checks say about the text: our sentence, Triton's own, and a button where the fix is known. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconWand } from "@tabler/icons-react";
import type { ConfigProblem } from "@/api/types";
import { problemText } from "@/api/problem";
import { Card } from "@/components/card";
import { bySeverity, SEVERITY_TONES, SEVERITY_WORDS } from "@/components/problem-severity";
import { ToneIcon } from "@/components/status";
import type { Check } from "../config/use-checks";
import shared from "../deploy.module.css";
import classes from "./problems-list.module.css";

export interface ProblemsListProps {
  check: Check;
  /** The text after every fix that the inspection knew, unless it is there already. */
  allFixed: { text: string; certain: boolean } | null;
  onGoTo: (line: number, column: number | null) => void;
  onFix: (text: string) => void;
}

export function ProblemsList({ check, allFixed, onGoTo, onFix }: ProblemsListProps) {
  const errors = check.problems.filter((problem) => problem.severity === "error").length;
  return (
    <Card
      title={t`Problems`}
      hint={check.checking ? t`checking` : t`checked against the model file`}
      actions={
        allFixed && errors > 0 ? (
          <Button variant="default" leftSection={<IconWand size={15} aria-hidden />} onClick={() => onFix(allFixed.text)}>
            {allFixed.certain ? t`Take all fixes` : t`Take the draft`}
          </Button>
        ) : undefined
      }
      flush
    >
      <div aria-live="polite">
        {check.failure ? (
          <div className={shared["problemRow"]}>
            <ToneIcon tone="error" label={t`Not checked`} />
            <div>
              <div className={shared["problemMessage"]}>
                <Trans>The configuration could not be checked</Trans>
              </div>
              <div className={shared["problemHint"]}>{problemText(check.failure)}</div>
            </div>
            <Button variant="default" onClick={check.retry}>
              <Trans>Retry</Trans>
            </Button>
          </div>
        ) : check.problems.length === 0 ? (
          <div className={shared["problemRow"]}>
            <ToneIcon tone={check.checking ? "info" : "ok"} label={check.checking ? t`Checking` : t`Good`} />
            <span>{check.checking ? t`Checking the configuration` : t`No problems. The configuration fits the model.`}</span>
          </div>
        ) : (
          <ul className={classes["problems"]}>
            {[...check.problems].sort(bySeverity).map((problem) => (
              <ProblemRow
                key={`${problem.code} ${problem.line} ${problem.field} ${problem.message}`}
                problem={problem}
                stale={check.checking}
                onGoTo={onGoTo}
                onFix={onFix}
              />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

interface ProblemRowProps extends Pick<ProblemsListProps, "onGoTo" | "onFix"> {
  problem: ConfigProblem;
  /** The problem is of an earlier text: its fix would undo what was typed since. */
  stale: boolean;
}

function ProblemRow({ problem, stale, onGoTo, onFix }: ProblemRowProps) {
  const { line, column, field, fix, plain, message } = problem;
  const place = [line ? t`line ${line}` : null, field?.replaceAll("[0]", "")].filter(Boolean).join(", ");
  return (
    <li className={shared["problemRow"]}>
      <ToneIcon tone={SEVERITY_TONES[problem.severity]} label={SEVERITY_WORDS[problem.severity]} />
      <div>
        <div className={shared["problemMessage"]}>{plain || message}</div>
        {problem.hint && !(plain && problem.hint.startsWith("got ")) ? <div className={shared["problemHint"]}>{problem.hint}</div> : null}
        {plain && plain !== message ? (
          <div className={shared["problemRaw"]} title={t`What Triton says`}>
            {message}
          </div>
        ) : null}
        {line ? (
          <button type="button" className={shared["place"]} onClick={() => onGoTo(line, column)}>
            {place}
          </button>
        ) : place ? (
          <span className={shared["problemHint"]}>{place}</span>
        ) : null}
      </div>
      {fix ? (
        <Button variant="light" disabled={stale} leftSection={<IconWand size={15} aria-hidden />} onClick={() => onFix(fix.text)}>
          {fix.label}
        </Button>
      ) : null}
    </li>
  );
}

/** The steps of a wizard as a plain ordered list. */
import { IconCheck, IconX } from "@tabler/icons-react";
import classes from "./stepper.module.css";
import { t } from "@lingui/core/macro";

export interface Step {
  id: string;
  title: string;
  hint?: string;
  state: "done" | "current" | "todo" | "failed";
}

export interface StepperProps {
  steps: Step[];
  label: string;
  /** Steps for which this answers true are buttons. */
  canGo?: (id: string) => boolean;
  onGo?: (id: string) => void;
}

function Mark({ step, position }: { step: Step; position: number }) {
  if (step.state === "done") return <IconCheck size={15} stroke={2.2} aria-hidden />;
  if (step.state === "failed") return <IconX size={15} stroke={2.2} aria-hidden />;
  return <>{position}</>;
}

export function Stepper({ steps, label, canGo, onGo }: StepperProps) {
  return (
    <ol className={classes["steps"]} aria-label={label}>
      {steps.map((step, index) => {
        const content = (
          <>
            <span className={classes["mark"]}>
              <Mark step={step} position={index + 1} />
            </span>
            <span className={classes["words"]}>
              <span className={classes["title"]}>{step.title}</span>
              {step.hint ? <span className={`${classes["hint"]} truncate`}>{step.hint}</span> : null}
            </span>
            <span className="sr-only">{step.state === "done" ? t` (done)` : step.state === "failed" ? t` (failed)` : ""}</span>
          </>
        );
        const clickable = step.state !== "current" && onGo !== undefined && (canGo?.(step.id) ?? false);
        return (
          <li key={step.id} data-state={step.state} aria-current={step.state === "current" ? "step" : undefined}>
            {clickable ? (
              <button type="button" className={classes["step"]} onClick={() => onGo(step.id)}>
                {content}
              </button>
            ) : (
              <span className={classes["step"]}>{content}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

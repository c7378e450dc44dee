/** What the checks say about the configuration of one model, and what inspection noticed. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { repoModelConfigQuery } from "@/api/models";
import { problemText } from "@/api/problem";
import { Card } from "@/components/card";
import { LinkButton } from "@/components/link-button";
import { bySeverity, SEVERITY_TONES, SEVERITY_WORDS } from "@/components/problem-severity";
import { ToneIcon } from "@/components/status";
import { paths } from "@/app/paths";
import classes from "../models.module.css";

export interface ChecksCardProps {
  name: string;
  version: number;
  repoModel: string;
  /** The revision in force. */
  revision: number;
  warnings: readonly string[];
}

export function ChecksCard({ name, version, repoModel, revision, warnings }: ChecksCardProps) {
  const { data, error } = useQuery(repoModelConfigQuery(name, version, repoModel, revision));
  const problems = [...(data?.problems ?? [])].sort(bySeverity);
  // What inspection noticed is kept as it was said then; the checks say again what still holds.
  const notes = warnings.filter((warning) => !problems.some(({ message, plain }) => warning.includes(message) || warning === plain));
  const nothing = data && problems.length === 0;
  return (
    <Card
      title={t`Checks`}
      hint={revision > 0 ? t`configuration revision ${revision}` : t`the configuration as uploaded`}
      actions={
        <LinkButton size="compact-xs" variant="subtle" {...paths.modelTab(name, version, "config")}>
          <Trans>Edit</Trans>
        </LinkButton>
      }
    >
      <ul className={classes["warnings"]}>
        {error ? (
          <li>
            <ToneIcon tone="error" label={t`Not checked`} />
            <span>
              <Trans>The configuration could not be checked: {problemText(error)}</Trans>
            </span>
          </li>
        ) : null}
        {nothing ? (
          <li>
            <ToneIcon tone="ok" label={t`Good`} />{" "}
            <span>
              <Trans>The configuration fits the model.</Trans>
            </span>
          </li>
        ) : null}
        {problems.map((problem, index) => (
          <li key={index}>
            <ToneIcon tone={SEVERITY_TONES[problem.severity]} label={SEVERITY_WORDS[problem.severity]} />
            <span>
              {problem.plain || problem.message}
              {problem.line ? (
                <span className="secondary">
                  {" "}
                  <Trans>line {problem.line}</Trans>
                </span>
              ) : null}
            </span>
          </li>
        ))}
        {notes.map((note) => (
          <li key={note}>
            <ToneIcon tone="note" label={t`Note of the inspection`} /> <span>{note}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** What the checks say about the configuration of one model, and what inspection noticed. */
import { useQuery } from "@tanstack/react-query";
import { repoModelConfigQuery } from "@/api/models";
import { problemText } from "@/api/problem";
import { Card } from "@/components/card";
import { LinkButton } from "@/components/link-button";
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
  const problems = data?.problems ?? [];
  const nothing = data && problems.length === 0 && warnings.length === 0;
  return (
    <Card
      title="Checks"
      hint={revision > 0 ? `configuration revision ${revision}` : "the configuration as uploaded"}
      actions={
        <LinkButton size="compact-xs" variant="subtle" {...paths.modelTab(name, version, "config")}>
          Edit
        </LinkButton>
      }
    >
      <ul className={classes["warnings"]}>
        {error ? (
          <li>
            <ToneIcon tone="error" label="Not checked" />
            <span>The configuration could not be checked: {problemText(error)}</span>
          </li>
        ) : null}
        {nothing ? (
          <li>
            <ToneIcon tone="ok" label="Good" /> <span>The configuration fits the model.</span>
          </li>
        ) : null}
        {problems.map((problem, index) => (
          <li key={index}>
            <ToneIcon tone={problem.severity === "error" ? "error" : "warn"} label={problem.severity} />
            <span>
              {problem.plain || problem.message}
              {problem.line ? <span className="secondary"> line {problem.line}</span> : null}
            </span>
          </li>
        ))}
        {warnings.map((warning) => (
          <li key={warning}>
            <ToneIcon tone="warn" label="Warning" /> <span>{warning}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** What the arms answer to the same inputs, asked when somebody wants to know: how far they agree, and the inputs that differ most. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { capturedFilePath } from "@/api/capture";
import { compareAnswers } from "@/api/experiments";
import type { ComparedDiffering, ComparedMissing, ComparedOutput, ComparedSource, ExperimentAnswers } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { count, MISSING, percent, seconds, significant } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import { DeploymentName } from "../components/deployments-card";
import classes from "./answers-card.module.css";

const INPUTS = ["0", "10", "50", "200"] as const;

const share = (part: number, whole: number) => (whole === 0 ? MISSING : t`${percent(part / whole)} (${count(part)} of ${count(whole)})`);

function sourceText(one: ComparedSource): string {
  if (one.source === "golden") return plural(one.asked, { one: "# golden case", other: "# golden cases" });
  const many = plural(one.asked, { one: "# captured request", other: "# captured requests" });
  return t`${many} of ${one.deployment}`;
}

function missingText({ code, deployment, count: many }: ComparedMissing): string {
  switch (code) {
    case "no_golden_cases":
      return t`There are no golden cases of these models: save a call in the test console, and let it expect its answer.`;
    case "no_capture":
      return t`${deployment} captures no inputs: switch capture on in the settings of the deployment (capture: in its file).`;
    case "nothing_captured":
      return t`${deployment} captures inputs, and nothing has come of the last 24 hours yet. Files arrive some seconds after they are finished.`;
    case "unusable":
      return plural(many, {
        one: `# request that ${deployment} captured cannot be asked again: it is not whole, had failed, or is of another model.`,
        other: `# requests that ${deployment} captured cannot be asked again: they are not whole, had failed, or are of another model.`,
      });
    case "asleep":
      return t`${deployment} is asleep, and is not woken for this.`;
    case "other_models":
      return t`${deployment} does not serve all models that the baseline serves: those are not asked.`;
    case "not_asked":
      return plural(many, { one: "# input was not asked: the time had ended.", other: "# inputs were not asked: the time had ended." });
  }
}

interface Row extends ComparedOutput {
  deployment: string;
  key: string;
}

const columnsOf = (names: readonly string[], baseline: string): Column<Row>[] => [
  {
    id: "arm",
    header: t`Arm`,
    cell: (row) => (
      <>
        <DeploymentName name={row.deployment} all={names} />
        {row.deployment === baseline ? <span className="muted"> {t`with itself, asked again`}</span> : null}
      </>
    ),
  },
  {
    id: "output",
    header: t`Output`,
    cell: (row) => (
      <span className="mono">
        {row.model}/{row.output}
      </span>
    ),
  },
  { id: "agreed", header: t`Agree within the tolerance`, align: "right", cell: (row) => share(row.agreed, row.compared) },
  { id: "best", header: t`Same best class`, align: "right", hideBelow: "sm", cell: (row) => share(row.best, row.rows) },
  {
    id: "schema",
    header: t`Type and shape`,
    hideBelow: "md",
    cell: (row) =>
      row.schema === 0 ? (
        t`as the baseline's`
      ) : (
        <>
          <Chip tone="error">{t`${count(row.schema)} differ`}</Chip> <span className="muted">{row.schema_text}</span>
        </>
      ),
  },
  {
    id: "largest",
    header: t`Largest difference`,
    align: "right",
    cell: (row) => (row.largest === null ? MISSING : significant(row.largest)),
  },
];

function Origin({ endpoint, one }: { endpoint: string; one: ComparedDiffering }) {
  if (one.source === "golden") return <Trans>golden case {one.case}</Trans>;
  return (
    <>
      <Trans>request that {one.captured_by} captured</Trans> {one.captured_at ? <Time at={one.captured_at} /> : null},{" "}
      <a className="link" href={capturedFilePath(endpoint, one.captured_by, one.file)} download>
        <Trans>
          {one.file.slice(0, 8)}, line {count(one.line)}
        </Trans>
      </a>
    </>
  );
}

function DifferingInput({
  endpoint,
  baseline,
  one,
  names,
}: {
  endpoint: string;
  baseline: string;
  one: ComparedDiffering;
  names: readonly string[];
}) {
  return (
    <li className={classes["differing"]}>
      <p>
        <DeploymentName name={one.deployment} all={names} /> <span className="mono">{one.model}</span>{" "}
        <span className="secondary">
          <Origin endpoint={endpoint} one={one} />
        </span>
      </p>
      {one.inputs.map((input) => (
        <p key={input} className={`mono secondary ${classes["input"] ?? ""}`}>
          {input}
        </p>
      ))}
      {one.outputs.length === 0 ? (
        <p>
          <Chip tone="error">{t`refused`}</Chip> {one.text}
        </p>
      ) : null}
      {one.outputs.map((output) => (
        <div key={output.output}>
          {output.at.length === 0 ? (
            <p>
              <span className="mono">{output.output}</span> {output.text}
            </p>
          ) : (
            <div className={classes["values"]} tabIndex={0} role="region" aria-label={t`${output.output} of both`}>
              <table aria-label={t`${output.output} of both`}>
                <thead>
                  <tr>
                    <th scope="col">{output.output}</th>
                    {output.at.map((at) => (
                      <th key={at.join()} scope="col" className="mono">
                        [{at.join(", ")}]
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  <tr>
                    <th scope="row">{baseline}</th>
                    {output.baseline.map((value, index) => (
                      <td key={index}>{value}</td>
                    ))}
                  </tr>
                  <tr>
                    <th scope="row">{one.deployment}</th>
                    {output.own.map((value, index) => (
                      <td key={index}>{value === output.baseline[index] ? value : <strong>{value}</strong>}</td>
                    ))}
                  </tr>
                </tbody>
              </table>
            </div>
          )}
        </div>
      ))}
    </li>
  );
}

function Lacking({ endpoint, missing }: { endpoint: string; missing: readonly ComparedMissing[] }) {
  const codes = missing.map((one) => one.code);
  return (
    <div className={classes["missing"]}>
      <ul>
        {missing.map((one) => (
          <li key={`${one.code} ${one.deployment}`}>{missingText(one)}</li>
        ))}
      </ul>
      {codes.includes("no_golden_cases") || codes.includes("no_capture") ? (
        <div className={classes["actions"]}>
          {codes.includes("no_golden_cases") ? (
            <LinkButton {...paths.test(endpoint)} variant="default">
              <Trans>Save golden cases</Trans>
            </LinkButton>
          ) : null}
          {codes.includes("no_capture") ? (
            <LinkButton {...paths.endpointTab(endpoint, "data")} variant="default">
              <Trans>What is captured</Trans>
            </LinkButton>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

function Compared({ found, names }: { found: ExperimentAnswers; names: readonly string[] }) {
  const asked = found.sources.filter((one) => one.found > 0);
  const rows = found.arms.flatMap((arm) =>
    arm.outputs.map((one) => ({ ...one, deployment: arm.deployment, key: `${arm.deployment} ${one.model} ${one.output}` })),
  );
  const told = asked.map(sourceText).join(", ");
  return (
    <>
      {asked.length === 0 ? (
        <EmptyState
          title={t`There is nothing to ask`}
          detail={t`Golden cases and captured requests are asked of all arms. None was found.`}
        />
      ) : (
        <>
          <div className={classes["body"]}>
            <p role="status">
              <Trans>
                {told} were asked of all arms in {seconds(found.seconds)}.
              </Trans>
            </p>
            {found.arms.map((arm) => (
              <p key={arm.deployment} className="secondary">
                {[
                  arm.deployment === found.baseline
                    ? t`${arm.deployment} agrees with itself in ${share(arm.agreed, arm.compared)}`
                    : t`${arm.deployment} agrees with ${found.baseline} in ${share(arm.agreed, arm.compared)}`,
                  arm.golden.cases > 0 ? t`${count(arm.golden.wrong)} of ${count(arm.golden.cases)} golden cases not as expected` : "",
                  arm.refused > 0 ? t`${count(arm.refused)} refused` : "",
                  arm.unanswered > 0 ? t`${count(arm.unanswered)} not answered` : "",
                ]
                  .filter(Boolean)
                  .join("; ")}
              </p>
            ))}
          </div>
          <DataTable
            label={t`Agreement by output`}
            columns={columnsOf(names, found.baseline)}
            rows={rows}
            rowKey={(row) => row.key}
            empty={<EmptyState title={t`No answers were compared`} />}
            compact
          />
        </>
      )}
      {found.missing.length > 0 ? <Lacking endpoint={found.endpoint} missing={found.missing} /> : null}
      {found.differing.length > 0 ? (
        <section aria-label={t`Inputs that differ most`}>
          <h3 className={classes["heading"]}>{t`Inputs that differ most`}</h3>
          <ol className={classes["list"]}>
            {found.differing.map((one, index) => (
              <DifferingInput key={index} endpoint={found.endpoint} baseline={found.baseline} one={one} names={names} />
            ))}
          </ol>
        </section>
      ) : null}
    </>
  );
}

export interface AnswersCardProps {
  endpoint: string;
  baseline: string;
  /** Of all deployments, for their colours. */
  names: readonly string[];
}

export function AnswersCard({ endpoint, baseline, names }: AnswersCardProps) {
  const [inputs, setInputs] = useState<string>("50");
  const ask = useMutation({ mutationFn: () => compareAnswers(endpoint, { baseline, inputs: Number(inputs) }) });
  return (
    <Card
      title={t`Answers to the same inputs`}
      hint={t`compared with ${baseline}; nothing is kept`}
      flush
      actions={
        <>
          <Select
            aria-label={t`Captured requests of each arm`}
            w={190}
            allowDeselect={false}
            value={inputs}
            data={INPUTS.map((value) => ({
              value,
              label: value === "0" ? t`golden cases alone` : t`${value} captured of each`,
            }))}
            onChange={(value) => setInputs(value ?? "50")}
          />
          <RefusingButton needs="deploy" loading={ask.isPending} onClick={() => ask.mutate()}>
            <Trans>Compare answers</Trans>
          </RefusingButton>
        </>
      }
    >
      {ask.error ? <ProblemCard error={ask.error} title={t`The answers could not be compared`} onRetry={() => ask.mutate()} /> : null}
      {ask.data ? <Compared found={ask.data} names={names} /> : null}
      {ask.data || ask.error ? null : (
        <p className={`secondary ${classes["about"] ?? ""}`}>
          <Trans>
            Asks every arm the golden cases of its models, and the newest requests that the arms have captured, once more: leave it out
            where a model does more than answer. It takes half a minute at most, and counts for no arm.
          </Trans>
        </p>
      )}
    </Card>
  );
}

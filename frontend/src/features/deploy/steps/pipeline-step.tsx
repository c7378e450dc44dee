/** One step of an ensemble: its version, what its inputs take, how its outputs are called, what the checks say of it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Select, TextInput } from "@mantine/core";
import { IconTrash, IconX } from "@tabler/icons-react";
import { useState } from "react";
import type { ConfigProblem } from "@/api/types";
import { type PipelineSpec, typeText } from "@/components/pipeline/graph";
import { SEVERITY_WORDS } from "@/components/problem-severity";
import { ToneIcon } from "@/components/status";
import { freeName, removeStep, renameTensor, setConnection, setStepVersion } from "../config/pipeline-edit";
import { inputChoices, type ModelTensor, renameProblem, type StepModel } from "../config/pipeline-fit";
import { TensorSelect } from "./tensor-select";
import classes from "./pipeline-editor.module.css";

interface PipelineStepCardProps {
  index: number;
  version: number | null;
  spec: PipelineSpec;
  models: readonly StepModel[];
  /** Whether the ensemble takes batches. */
  batched: boolean;
  /** Names that tensors have already. */
  taken: ReadonlySet<string>;
  problems: readonly ConfigProblem[];
  text: string;
  disabled: boolean;
  onChange: (text: string) => void;
}

/** What is mapped, and what the model tells besides. */
function tensorsOf(mapped: readonly (readonly [string, string])[], known: readonly ModelTensor[]): ModelTensor[] {
  const names = new Set(known.map((one) => one.name));
  const others = mapped.filter(([name]) => !names.has(name)).map(([name]) => ({ name, datatype: "", shape: [] }));
  return [...known, ...others];
}

export function PipelineStepCard(props: PipelineStepCardProps) {
  const { index, version, spec, models, batched, problems, text, disabled, onChange } = props;
  const step = spec.steps[index];
  if (!step) return null;
  const model = models.find((one) => one.name === step.model);
  const title = `${index + 1}. ${step.model}`;
  const versions = [...new Set([...(model?.versions ?? []), ...(version !== null && version > 0 ? [version] : [])])].sort((a, b) => b - a);
  return (
    <li className={classes["step"]} aria-label={t`Step ${title}`}>
      <div className={classes["head"]}>
        <h3 className="mono">{title}</h3>
        <Select
          aria-label={t`Version of step ${title}`}
          w={130}
          allowDeselect={false}
          disabled={disabled}
          value={String(version !== null && version > 0 ? version : -1)}
          data={[{ value: "-1", label: t`newest` }, ...versions.map((one) => ({ value: String(one), label: t`version ${one}` }))]}
          onChange={(next) => next !== null && onChange(setStepVersion(text, index, Number(next)))}
        />
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={t`Remove step ${title}`}
          disabled={disabled}
          onClick={() => onChange(removeStep(text, index))}
        >
          <IconTrash size={15} />
        </ActionIcon>
      </div>
      {problems.map((problem) => (
        <p key={`${problem.field} ${problem.message}`} className={classes["problem"]}>
          <ToneIcon tone={problem.severity === "error" ? "error" : "warn"} label={SEVERITY_WORDS[problem.severity]} />{" "}
          {problem.plain || problem.message}
        </p>
      ))}
      <div className={classes["tensors"]}>
        {tensorsOf(step.inputs, model?.inputs ?? []).map((input) => (
          <TensorSelect
            key={`in ${input.name}`}
            label={t`${input.name} takes`}
            choices={inputChoices(spec, models, batched, index, input)}
            value={step.inputs.find(([name]) => name === input.name)?.[1] ?? null}
            optional={input.optional === true || input.datatype === ""}
            disabled={disabled}
            onChange={(tensor) => onChange(setConnection(text, index, "input_map", input.name, tensor))}
          />
        ))}
        {tensorsOf(step.outputs, model?.outputs ?? []).map((output) => (
          <OutputName
            key={`out ${output.name}`}
            {...props}
            output={output}
            tensor={step.outputs.find(([name]) => name === output.name)?.[1] ?? null}
          />
        ))}
      </div>
    </li>
  );
}

interface OutputNameProps extends PipelineStepCardProps {
  output: ModelTensor;
  /** Null: nobody takes it. */
  tensor: string | null;
}

function OutputName({ index, spec, taken, text, disabled, onChange, output, tensor }: OutputNameProps) {
  const [typed, setTyped] = useState<string | null>(null);
  if (tensor === null) {
    const name = freeName(output.name, taken);
    return (
      <div className={classes["unused"]}>
        <span>
          <span className="mono">{output.name}</span>{" "}
          <span className="secondary">
            <Trans>is not used</Trans>
          </span>
        </span>
        <Button variant="default" disabled={disabled} onClick={() => onChange(setConnection(text, index, "output_map", output.name, name))}>
          <Trans>Use {output.name}</Trans>
        </Button>
      </div>
    );
  }
  const fixed = spec.outputs.some((one) => one.name === tensor);
  const others = new Set([...taken].filter((name) => name !== tensor));
  const problem = typed === null || typed === tensor ? null : renameProblem(typed, others);
  // why not while one types: each letter would be a rename, and a name on the way may be another tensor's.
  const commit = () => {
    if (typed !== null && typed !== tensor && problem === null) onChange(renameTensor(text, tensor, typed));
    setTyped(null);
  };
  return (
    <TextInput
      label={t`${output.name} is called`}
      classNames={{ input: "mono" }}
      value={typed ?? tensor}
      disabled={disabled || fixed}
      description={fixed ? t`an output of the ensemble` : typeText(output) || undefined}
      error={problem}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        // A name that is refused stays, with what is wrong with it.
        if (event.key === "Enter" && problem === null) commit();
        if (event.key === "Escape") setTyped(null);
      }}
      rightSection={
        fixed ? undefined : (
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t`Do not use ${output.name}`}
            disabled={disabled}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onChange(setConnection(text, index, "output_map", output.name, null))}
          >
            <IconX size={14} />
          </ActionIcon>
        )
      }
    />
  );
}

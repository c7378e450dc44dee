/** An ensemble edited as a drawing: steps, what they take and give. Each change is an edit of the text beside it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { pipelineGraph, type StepText } from "@/components/pipeline/graph";
import { PipelineDrawing } from "@/components/pipeline/pipeline-drawing";
import { ToneIcon } from "@/components/status";
import { addStep, setOutput, tensorNames } from "../config/pipeline-edit";
import { type Choice, outputChoices, specOf, type StepModel, stepProblems } from "../config/pipeline-fit";
import type { SourceModel } from "../config/source";
import shared from "../deploy.module.css";
import type { FormContext } from "./form-context";
import { PipelineStepCard } from "./pipeline-step";
import { TensorSelect } from "./tensor-select";
import classes from "./pipeline-editor.module.css";

const stepModel = (model: SourceModel): StepModel => ({
  name: model.name,
  versions: model.versions,
  batched: model.maxBatchSize > 0,
  inputs: model.inputs,
  outputs: model.outputs,
});

/** By its model's name for it; where two steps run the same model, also by what it is called here. */
function madeText({ output, from, tensor }: Choice, all: readonly Choice[]): string {
  const alike = all.filter((one) => one.output === output && one.from === from);
  return alike.length > 1 ? t`${output} of ${from}, called ${tensor}` : t`${output} of ${from}`;
}

export function PipelineEditor({ form }: { form: FormContext }) {
  const { fields, text, onChange, problems, disabled } = form;
  const [adding, setAdding] = useState<string | null>(null);
  const spec = useMemo(() => specOf(fields), [fields]);
  const models = useMemo(() => form.repository.filter((one) => one.name !== form.model.name).map(stepModel), [form.model, form.repository]);
  // While the text cannot be read the form shows what it last could.
  const taken = useMemo(() => (disabled ? new Set<string>() : tensorNames(text)), [disabled, text]);
  if (!spec) return null;
  const batched = (fields.maxBatchSize ?? form.model.maxBatchSize) > 0;
  const graph = pipelineGraph(spec, models);
  const marks = new Map<string, StepText>();
  spec.steps.forEach((_, index) => {
    const found = stepProblems(problems, index);
    const errors = found.filter((one) => one.severity === "error").length;
    if (errors > 0)
      marks.set(`step ${index}`, { lines: [], marks: [{ tone: "error", text: plural(errors, { one: "# error", other: "# errors" }) }] });
  });
  const model = models.find((one) => one.name === adding);
  return (
    <div className={shared["section"]}>
      <div className={shared["sectionHead"]}>
        <h2>
          <Trans>Pipeline</Trans>
        </h2>
        <span className="secondary">
          <Trans>{plural(spec.steps.length, { one: "# step", other: "# steps" })}; every change is written into the text</Trans>
        </span>
      </div>
      <PipelineDrawing graph={graph} label={t`Pipeline`} texts={marks} />
      {stepProblems(problems, null).map((problem) => (
        <p key={problem.message} className={classes["problem"]}>
          <ToneIcon tone="error" label={t`Error`} /> {problem.plain || problem.message}
        </p>
      ))}
      <ol className={classes["steps"]} aria-label={t`Steps`}>
        {spec.steps.map((step, index) => (
          <PipelineStepCard
            key={`${index} ${step.model}`}
            index={index}
            version={fields.ensemble?.[index]?.version ?? null}
            spec={spec}
            models={models}
            batched={batched}
            taken={taken}
            problems={stepProblems(problems, index)}
            text={text}
            disabled={disabled}
            onChange={onChange}
          />
        ))}
      </ol>
      <div className={classes["row"]}>
        <Select
          label={t`Add a step`}
          placeholder={models.length > 0 ? t`a model of the repository` : t`the repository has no other model`}
          searchable
          value={model ? adding : null}
          data={models.map((one) => one.name)}
          onChange={setAdding}
          disabled={disabled || models.length === 0}
        />
        <Button
          variant="default"
          leftSection={<IconPlus size={15} aria-hidden />}
          disabled={disabled || !model}
          onClick={() => {
            if (!model) return;
            onChange(
              addStep(
                text,
                model.name,
                model.outputs.map((one) => one.name),
              ),
            );
            setAdding(null);
          }}
        >
          <Trans>Add</Trans>
        </Button>
      </div>
      {spec.outputs.length > 0 ? (
        <ul className={classes["outputs"]} aria-label={t`Where outputs come from`}>
          {spec.outputs.map((output) => {
            const choices = outputChoices(spec, models, batched, output);
            return (
              <li key={output.name}>
                <TensorSelect
                  label={t`Output ${output.name} comes from`}
                  choices={choices}
                  value={output.name}
                  named={(one) => madeText(one, choices)}
                  disabled={disabled}
                  onChange={(tensor) => tensor !== null && onChange(setOutput(text, output.name, tensor))}
                />
              </li>
            );
          })}
        </ul>
      ) : null}
    </div>
  );
}

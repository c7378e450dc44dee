/** Step 3: form left, config.pbtxt right, problems under it. The text is the truth. */
import { SegmentedControl } from "@mantine/core";
import { IconFileCode } from "@tabler/icons-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Card } from "@/components/card";
import { PbtxtEditor, type PbtxtEditorHandle } from "@/components/pbtxt-editor/pbtxt-editor";
import { readConfig, type ConfigFields } from "../config/config-fields";
import { modelNameProblem } from "../config/names";
import type { DeploySource } from "../config/source";
import { useChecks } from "../config/use-checks";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { ConfigForm } from "./config-form";
import { Footer } from "./footer";
import { ProblemsList } from "./problems-list";

export interface ConfigureStepProps {
  source: DeploySource;
  form: DraftForm;
  onForm: (part: Partial<DraftForm>) => void;
  /** What the name means: a new model, or the next version of one. */
  nameNote: string;
  /** A line to look at first. */
  mark: { line: number; model: string | null } | null;
  onBack: () => void;
  onForward: () => void;
}

const NOTHING: ConfigFields = {
  maxBatchSize: null,
  instanceGroups: 0,
  instanceCount: null,
  instanceKind: "KIND_AUTO",
  dynamicBatching: false,
  preferredBatchSizes: [],
  maxQueueDelayMicroseconds: null,
  otherSettings: [],
};

export function ConfigureStep({ source, form, onForm, nameNote, mark, onBack, onForward }: ConfigureStepProps) {
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      source.models.findIndex((model) => model.name === mark?.model),
    ),
  );
  const [diff, setDiff] = useState(false);
  const editor = useRef<PbtxtEditorHandle>(null);
  const checks = useChecks(source, form.texts);
  const model = source.models[active] ?? source.models[0];
  const check = checks[active];
  const text = form.texts[active] ?? "";
  const readable = useRef<ConfigFields>(NOTHING);
  const start = useMemo(() => readConfig(model?.startText ?? "").fields ?? NOTHING, [model?.startText]);
  const marked = mark?.line;
  useEffect(() => {
    if (marked !== undefined) editor.current?.goTo(marked, null);
  }, [marked]);
  if (!model || !check) return null;

  // While the text cannot be read the form shows, frozen, what it last could.
  if (check.reading.fields) readable.current = check.reading.fields;
  const setText = (next: string) =>
    onForm({ texts: form.texts.map((old, index) => (index === active ? next : old)), registered: null });
  const nameProblem = source.registered === null ? modelNameProblem(form.modelName) : null;
  const errors = checks.reduce((sum, one) => sum + one.errors, 0);
  const waiting = checks.some((one) => one.checking || one.failure !== null);
  const blocked = errors > 0 || waiting || nameProblem !== null;
  const message =
    nameProblem ??
    (errors > 0
      ? `Fix ${errors} ${errors === 1 ? "error" : "errors"} to continue`
      : waiting
        ? "Checking the configuration"
        : nameNote);
  const forward = () => {
    if (!blocked) onForward();
  };
  return (
    <>
      {source.models.length > 1 ? (
        <SegmentedControl
          mb={12}
          aria-label="Model of the archive"
          value={String(active)}
          onChange={(index) => setActive(Number(index))}
          data={source.models.map((one, index) => ({
            value: String(index),
            label: `${one.name}${(checks[index]?.errors ?? 0) > 0 ? ` (${checks[index]?.errors} to fix)` : ""}`,
          }))}
        />
      ) : null}
      <div className={classes["columns"]}>
        <ConfigForm
          key={active}
          model={model}
          text={text}
          fields={check.reading.fields ?? readable.current}
          start={start}
          problems={check.problems}
          brokenLine={check.reading.error?.line ?? null}
          name={{
            value: form.modelName,
            problem: nameProblem,
            note: nameNote,
            locked: source.registered !== null,
            onChange: (modelName) => onForm({ modelName, registered: null }),
          }}
          onChange={setText}
        />
        <div className={classes["stack"]}>
          <Card
            flush
            title={
              <span className={classes["editorHead"]}>
                <IconFileCode size={17} stroke={1.7} aria-hidden />
                <span className={classes["editorName"]}>config.pbtxt</span>
              </span>
            }
            hint={source.registered === null ? "edits here update the form" : "edits become a revision of this version"}
            actions={
              <SegmentedControl
                aria-label="View of the text"
                value={diff ? "diff" : "text"}
                onChange={(view) => setDiff(view === "diff")}
                data={[
                  { value: "text", label: "Text" },
                  { value: "diff", label: "Diff with auto-complete" },
                ]}
              />
            }
          >
            <div className={classes["editor"]}>
              <PbtxtEditor
                key={active}
                ref={editor}
                value={text}
                onChange={setText}
                problems={check.problems}
                original={diff ? model.completeText : null}
                label={`config.pbtxt of ${model.name}. Escape, then Tab, leaves the editor.`}
                onSubmit={forward}
              />
            </div>
          </Card>
          <ProblemsList check={check} onGoTo={(line, column) => editor.current?.goTo(line, column)} onFix={setText} />
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={message}
        tone={errors > 0 || nameProblem ? "error" : undefined}
        forward="Continue to placement"
        onForward={forward}
        blocked={blocked}
      />
    </>
  );
}

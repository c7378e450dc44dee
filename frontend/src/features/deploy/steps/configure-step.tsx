/** Step 3: form left, config.pbtxt right, problems under it. The text is the truth. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, SegmentedControl } from "@mantine/core";
import { IconFileCode } from "@tabler/icons-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { Card } from "@/components/card";
import type { PbtxtEditorHandle } from "@/components/pbtxt-editor/pbtxt-editor";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import { type ConfigFields, NO_FIELDS, readConfig } from "../config/config-fields";
import type { Culprit } from "../config/culprit";
import { modelNameProblem } from "../config/names";
import { isGuessed, type DeploySource } from "../config/source";
import { useChecks } from "../config/use-checks";
import shared from "../deploy.module.css";
import classes from "./configure-step.module.css";
import type { DraftForm } from "../draft/draft";
import { ConfigForm } from "./config-form";
import { Footer } from "./footer";
import { ProblemsList } from "./problems-list";
import { stateOf, TryLoadCard } from "./try-load-card";
import { useContinue } from "./use-continue";
import { useTryLoad } from "./use-try-load";

/** The editor is most of this step's code; the others should not wait for it. */
const PbtxtEditor = lazy(() => import("@/components/pbtxt-editor/pbtxt-editor").then((module) => ({ default: module.PbtxtEditor })));

export interface ConfigureStepProps {
  source: DeploySource;
  form: DraftForm;
  onForm: (part: Partial<DraftForm>) => void;
  /** What the name means: a new model, or the next version of one. */
  nameNote: string;
  /** To be answered before one goes on. */
  question: React.ReactNode;
  /** A line to look at first. */
  mark: { line: number; model: string | null } | null;
  onBack: () => void;
  /** `untried`: why it was not tried whether it loads, where it was not. */
  onForward: (untried: string | null) => void;
}

const toFixLabel = (name: string, errors: number): string => (errors > 0 ? t`${name} (${errors} to fix)` : name);

export function ConfigureStep({ source, form, onForm, nameNote, question, mark, onBack, onForward }: ConfigureStepProps) {
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      source.models.findIndex((model) => model.name === mark?.model),
    ),
  );
  const [diff, setDiff] = useState(false);
  const editor = useRef<PbtxtEditorHandle>(null);
  // A line of another model's text, to go to once that is shown.
  const later = useRef<number | null>(null);
  const checks = useChecks(source, form.texts);
  const trying = useTryLoad(source, form, form.tried, (tried) => onForm({ tried }));
  const going = useContinue(trying, onForward);
  const model = source.models[active] ?? source.models[0];
  const check = checks[active];
  const text = form.texts[active] ?? "";
  const readable = useRef<ConfigFields>(NO_FIELDS);
  const start = useMemo(() => readConfig(model?.startText ?? "").fields ?? NO_FIELDS, [model?.startText]);
  const marked = useMark(mark?.line ?? null);
  useEffect(() => {
    const next = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.key.toLowerCase() !== "d") return;
      event.preventDefault();
      setDiff((shown) => !shown);
    };
    window.addEventListener("keydown", next);
    return () => window.removeEventListener("keydown", next);
  }, []);
  if (!model || !check) return null;

  // While the text cannot be read the form shows, frozen, what it last could.
  if (check.reading.fields) readable.current = check.reading.fields;
  const setText = (next: string) => onForm({ texts: form.texts.map((old, index) => (index === active ? next : old)), registered: null });
  const nameProblem = source.registered === null ? modelNameProblem(form.modelName) : null;
  const errors = checks.reduce((sum, one) => sum + one.errors, 0);
  const waiting = checks.some((one) => one.checking || one.failure !== null);
  const blocked = errors > 0 || waiting || nameProblem !== null || Boolean(question);
  const go = ({ repo, line }: Culprit) => {
    const index = source.models.findIndex(({ name }) => name === repo);
    if (index === active) editor.current?.goTo(line, null);
    else {
      later.current = line;
      setActive(index);
    }
  };
  const message =
    nameProblem ??
    (errors > 0
      ? t`Fix ${plural(errors, { one: "# error", other: "# errors" })} to continue`
      : checks.some((one) => one.failure !== null)
        ? t`A check failed. It is tried again in a moment.`
        : waiting
          ? t`Checking the configuration`
          : question
            ? t`Say whose version it is to continue`
            : going.waiting
              ? t`Trying whether it loads. ${stateOf(trying.trial)}`
              : going.refused
                ? t`It does not load. Change it, or continue anyway.`
                : nameNote);
  // A file's own text is written otherwise than what is completed from the model: both are compared as the runtime
  // would write them.
  const completed = diff && model.written && check.effective !== "";
  const forward = () => {
    if (!blocked && !going.waiting && !going.refused) going.press();
  };
  return (
    <>
      {source.models.length > 1 ? (
        <div className={shared["scroller"]}>
          <SegmentedControl
            mb={12}
            aria-label={t`Model of the archive`}
            value={String(active)}
            onChange={(index) => setActive(Number(index))}
            data={source.models.map((one, index) => ({
              value: String(index),
              label: toFixLabel(one.name, checks[index]?.errors ?? 0),
            }))}
          />
        </div>
      ) : null}
      <div className={shared["columns"]}>
        <ConfigForm
          key={active}
          model={model}
          repository={source.models}
          text={text}
          fields={check.reading.fields ?? readable.current}
          start={start}
          problems={check.problems}
          brokenLine={check.reading.error?.line ?? null}
          disabled={check.reading.error !== null}
          name={{
            value: form.modelName,
            problem: nameProblem,
            note: nameNote,
            locked: source.registered !== null,
            onChange: (modelName) => onForm({ modelName, registered: null }),
          }}
          onChange={setText}
        />
        <div className={shared["stack"]}>
          {question}
          <Card
            flush
            title={
              <span className={classes["editorHead"]}>
                <IconFileCode size={17} stroke={1.7} aria-hidden />
                <span className={classes["editorName"]}>config.pbtxt</span>
              </span>
            }
            hint={
              completed
                ? t`as the runtime completes it`
                : source.registered === null
                  ? t`edits here update the form`
                  : t`edits become a revision of this version`
            }
            actions={
              <SegmentedControl
                aria-label={t`View of the text`}
                value={diff ? "diff" : "text"}
                onChange={(view) => setDiff(view === "diff")}
                data={[
                  { value: "text", label: t`Text` },
                  { value: "diff", label: t`Diff with auto-complete` },
                ]}
              />
            }
          >
            <div className={shared["editor"]}>
              <Suspense fallback={<SkeletonRows rows={8} label={t`Loading the editor`} />}>
                <PbtxtEditor
                  key={`${active} ${completed ? "completed" : "own"}`}
                  ref={(handle) => {
                    editor.current = handle;
                    if (handle) marked(handle);
                    if (handle && later.current !== null) {
                      const line = later.current;
                      later.current = null;
                      // After the editor has drawn itself.
                      requestAnimationFrame(() => handle.goTo(line, null));
                    }
                  }}
                  value={completed ? check.effective : text}
                  onChange={setText}
                  readOnly={completed}
                  problems={completed ? [] : check.problems.map((one) => ({ ...one, message: one.plain || one.message }))}
                  original={diff ? model.completeText : null}
                  label={t`config.pbtxt of ${model.name}. Escape, then Tab, leaves the editor.`}
                  onSubmit={forward}
                />
              </Suspense>
            </div>
          </Card>
          {isGuessed(model) && text === model.startText ? (
            <div className={shared["refusal"]} style={{ borderLeftColor: "var(--warn)" }} role="status">
              <ToneIcon tone="warn" label={t`Warning`} />
              <span>
                <Trans>
                  The file does not tell the names, types and shapes of {model.name}: what stands here is a guess. Correct it, above all the
                  dimensions, where -1 takes any size, or continue with it as it is.
                </Trans>
              </span>
            </div>
          ) : null}
          <ProblemsList
            check={check}
            allFixed={model.proposal && model.proposal.text !== text ? model.proposal : null}
            onGoTo={(line, column) => editor.current?.goTo(line, column)}
            onFix={setText}
          />
          <TryLoadCard
            trying={trying}
            models={source.models.map(({ name }, index) => ({ name, text: form.texts[index] ?? "" }))}
            blocked={errors > 0 || waiting}
            onGoTo={go}
          />
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={message}
        tone={errors > 0 || nameProblem || going.refused ? "error" : undefined}
        forward={t`Continue to placement`}
        onForward={forward}
        blocked={blocked || going.refused}
        busy={going.waiting}
        second={
          !blocked && (going.waiting || going.refused) ? (
            <Button variant="default" onClick={going.skip}>
              {going.waiting ? t`Skip` : t`Continue anyway`}
            </Button>
          ) : undefined
        }
      />
    </>
  );
}

/** Goes to the line once, as soon as the editor is there. */
function useMark(line: number | null): (editor: PbtxtEditorHandle) => void {
  const done = useRef(false);
  return (editor) => {
    if (line === null || done.current) return;
    done.current = true;
    // After the editor has drawn itself.
    requestAnimationFrame(() => editor.goTo(line, null));
  };
}

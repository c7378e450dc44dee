/** The configuration of a registered version: form and text, checked as one types, kept as revisions. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select, TextInput } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useBlocker, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, type RefObject, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { keys } from "@/api/keys";
import { createConfigRevision, modelVersionQuery } from "@/api/models";
import { useRefusal } from "@/api/permissions";
import { wasOvertaken } from "@/api/problem";
import type { ModelVersion } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import type { PbtxtEditorHandle } from "@/components/pbtxt-editor/pbtxt-editor";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { RoleNote } from "@/components/role-note";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { type ConfigFields, NO_FIELDS, readConfig } from "../config/config-fields";
import { sourceOfVersion, type SourceModel } from "../config/source";
import { type Check, useChecks } from "../config/use-checks";
import shared from "../deploy.module.css";
import classes from "./config-tab.module.css";
import type { Tried } from "../draft/draft";
import { ConfigForm } from "../steps/config-form";
import { ProblemsList } from "../steps/problems-list";
import { TryLoadCard } from "../steps/try-load-card";
import { useTryLoad } from "../steps/use-try-load";
import { ConfigConflict } from "./config-conflict";
import { RevisionList } from "./revision-list";
import { fileText, newestOf, textsOf } from "./revision-texts";

const PbtxtEditor = lazy(() => import("@/components/pbtxt-editor/pbtxt-editor").then((module) => ({ default: module.PbtxtEditor })));

type Against = "none" | "file" | "completed" | "shown" | "theirs";

export function ConfigTab() {
  const { name, version: number } = useParams({ from: "/app/models/$name/versions/$version" });
  const wanted = number === "latest" ? "latest" : Number(number);
  const version = useSuspenseQuery(modelVersionQuery(name, wanted)).data;
  const search: { of?: string; revision?: number } = useSearch({ strict: false });
  return (
    <ConfigEditor key={`${version.version} ${search.revision ?? "newest"}`} version={version} wanted={search.revision} of={search.of} />
  );
}

interface EditorProps {
  version: ModelVersion;
  /** The revision that is edited; 0: the files; the newest unless said. */
  wanted: number | undefined;
  of: string | undefined;
}

export function ConfigEditor({ version, wanted, of }: EditorProps) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const editor = useRef<PbtxtEditorHandle>(null);
  const source = useMemo(() => sourceOfVersion(version), [version]);
  const newest = newestOf(version);
  // why kept: what others save meanwhile must take nothing away from who is typing, and must not be overwritten unseen.
  const [seen, setSeen] = useState({ newest, etag: version.config_etag });
  const [shown, setShown] = useState(wanted ?? newest);
  const starts = useMemo(() => textsOf(version.repo_models, version.config_revisions, shown), [version, shown]);
  const theirs = useMemo(() => textsOf(version.repo_models, version.config_revisions, newest), [version, newest]);
  const [texts, setTexts] = useState(starts);
  const [against, setAgainst] = useState<Against>("none");
  const [message, setMessage] = useState("");
  const named = source.models.findIndex((model) => model.name === of);
  // What clients call is the ensemble, where there is one, as on the overview.
  const active =
    named >= 0
      ? named
      : Math.max(
          0,
          source.models.findIndex((one) => one.platform === "ensemble"),
        );
  const checks = useChecks(source, texts);
  const [tried, setTried] = useState<Tried | null>(null);
  const trying = useTryLoad(source, { texts, instanceType: "" }, tried, setTried);
  const model = source.models[active];
  const check = checks[active];
  const text = texts[active] ?? "";
  const changed = source.models.filter((_, index) => texts[index] !== starts[index]);
  const dirty = changed.length > 0;
  const readable = useRef<ConfigFields>(NO_FIELDS);
  const startText = starts[active] ?? "";
  const start = useMemo(() => readConfig(startText).fields ?? NO_FIELDS, [startText]);
  const inFile = fileText(version.repo_models[active]);
  const file = useMemo(() => readConfig(inFile).fields ?? NO_FIELDS, [inFile]);
  const errors = checks.reduce((sum, one, index) => (texts[index] === starts[index] ? sum : sum + one.errors), 0);
  const waiting = checks.some((one, index) => texts[index] !== starts[index] && one.checking);

  const save = useMutation({
    mutationFn: () =>
      createConfigRevision(
        version.model,
        version.version,
        Object.fromEntries(source.models.flatMap((one, index) => (texts[index] === starts[index] ? [] : [[one.name, texts[index] ?? ""]]))),
        message.trim(),
        shown,
        seen.etag,
      ),
    onError: async (error) => {
      if (wasOvertaken(error)) await queryClient.invalidateQueries({ queryKey: keys.models.all });
    },
    onSuccess: async (saved) => {
      setTexts(starts);
      await queryClient.invalidateQueries({ queryKey: keys.models.all });
      notifyDone(t`Saved as revision ${saved.number}`);
      await navigate({
        to: ".",
        search: (old: Record<string, unknown>) => ({ ...old, revision: saved.number }),
        ignoreBlocker: true,
      });
    },
  });
  const overtaken = newest > seen.newest && !save.isPending;
  const goOn = () => {
    setTexts(texts.map((text, index) => (text === starts[index] ? (theirs[index] ?? text) : text)));
    setShown(newest);
    setSeen({ newest, etag: version.config_etag });
    setAgainst("none");
  };
  const blocked = overtaken || !dirty || errors > 0 || waiting || refusal !== undefined || save.isPending;
  const leaving = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: dirty, disabled: !dirty, withResolver: true });
  useKeys(
    () => !blocked && save.mutate(),
    () => setAgainst((old) => (old === "none" ? "completed" : "none")),
  );
  if (!model || !check) return null;
  if (check.reading.fields) readable.current = check.reading.fields;
  const setText = (next: string) => setTexts((old) => old.map((one, index) => (index === active ? next : one)));
  const original = against === "theirs" ? (theirs[active] ?? "") : originalOf(against, model, startText, inFile);
  return (
    <>
      <div className={classes["revisionBar"]}>
        {source.models.length > 1 ? (
          <Select
            label={t`Model of the repository`}
            w={260}
            searchable
            allowDeselect={false}
            value={model.name}
            data={source.models.map((one, index) => ({
              value: one.name,
              label: texts[index] === starts[index] ? one.name : t`${one.name} (changed)`,
            }))}
            onChange={(next) =>
              next &&
              void navigate({
                to: ".",
                search: (old: Record<string, unknown>) => ({ ...old, of: next }),
                replace: true,
                ignoreBlocker: true,
              })
            }
          />
        ) : null}
        <TextInput
          label={t`What changes, in a few words`}
          className={classes["revisionMessage"] ?? ""}
          maxLength={255}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        <Button onClick={() => save.mutate()} loading={save.isPending} disabled={blocked} title={refusal}>
          <Trans>Save as revision {newest + 1}</Trans>
        </Button>
        <Button variant="default" disabled={!dirty} onClick={() => setTexts(starts)}>
          <Trans>Discard</Trans>
        </Button>
        <RefusingLink
          needs="deploy"
          variant="default"
          link={paths.deploy({ model: version.model, version: version.version })}
          disabled={dirty}
        >
          <Trans>Deploy</Trans>
        </RefusingLink>
      </div>
      <RoleNote needs="deploy" to={t`save a revision or to try it on a node; what you type here stays in this window`} />
      {overtaken ? (
        <ConfigConflict
          version={version}
          since={seen.newest}
          shown={shown}
          dirty={dirty}
          looking={against === "theirs"}
          onLook={() => setAgainst("theirs")}
          onTake={() => {
            setTexts(theirs);
            setShown(newest);
            setSeen({ newest, etag: version.config_etag });
            setAgainst("none");
          }}
          onGoOn={goOn}
        />
      ) : null}
      {save.error && !wasOvertaken(save.error) ? <ProblemCard error={save.error} title={t`The revision was not saved`} /> : null}
      <div className={shared["columns"]}>
        <ConfigForm
          key={model.name}
          model={model}
          repository={source.models}
          text={text}
          fields={check.reading.fields ?? readable.current}
          start={start}
          file={file}
          problems={check.problems}
          brokenLine={check.reading.error?.line ?? null}
          disabled={check.reading.error !== null}
          name={{ value: version.model, problem: null, note: "", locked: true, onChange: () => undefined }}
          onChange={setText}
        />
        <div className={shared["stack"]}>
          <TextCard
            name={model.name}
            editor={editor}
            text={text}
            onText={setText}
            problems={check.problems}
            original={original}
            shown={shown}
            against={against}
            theirs={overtaken ? newest : null}
            onAgainst={setAgainst}
            onSubmit={() => !blocked && save.mutate()}
          />
          <ProblemsList check={check} allFixed={null} onGoTo={(line, column) => editor.current?.goTo(line, column)} onFix={setText} />
          {refusal === undefined ? (
            <TryLoadCard
              trying={trying}
              models={[{ name: model.name, text }]}
              blocked={errors > 0 || waiting}
              onGoTo={({ line }) => editor.current?.goTo(line, null)}
            />
          ) : null}
          <RevisionList version={version} shown={shown} />
        </div>
      </div>
      <ConfirmModal
        opened={leaving.status === "blocked"}
        onClose={() => leaving.reset?.()}
        title={t`Changes that are not saved`}
        confirmLabel={t`Leave without saving`}
        danger
        onConfirm={async () => leaving.proceed?.()}
      >
        <Trans>The configuration has changes that are not saved. Leave it?</Trans>
      </ConfirmModal>
    </>
  );
}

interface TextCardProps {
  /** The model of the repository whose text it is. */
  name: string;
  editor: RefObject<PbtxtEditorHandle | null>;
  text: string;
  onText: (text: string) => void;
  problems: Check["problems"];
  original: string | null;
  shown: number;
  against: Against;
  /** The revision that others have saved meanwhile. */
  theirs: number | null;
  onAgainst: (against: Against) => void;
  onSubmit: () => void;
}

function TextCard({ name, editor, text, onText, problems, original, shown, against, theirs, onAgainst, onSubmit }: TextCardProps) {
  return (
    <Card
      flush
      title="config.pbtxt"
      hint={shown === 0 ? t`as uploaded, or completed where there was none` : t`from revision ${shown}`}
      actions={
        <div className={shared["scroller"]}>
          <Segmented
            label={t`Show changes against`}
            value={against}
            options={[
              { value: "none", label: t`Text` },
              { value: "shown", label: t`My changes` },
              { value: "file", label: t`File` },
              { value: "completed", label: t`Auto-complete` },
              ...(theirs === null ? [] : [{ value: "theirs" as const, label: t`Revision ${theirs}` }]),
            ]}
            onChange={onAgainst}
          />
        </div>
      }
    >
      <div className={shared["editor"]}>
        <Suspense fallback={<SkeletonRows rows={8} label={t`Loading the editor`} />}>
          <PbtxtEditor
            key={name}
            ref={editor}
            value={text}
            onChange={onText}
            problems={problems.map((one) => ({ ...one, message: one.plain || one.message }))}
            original={original}
            label={t`config.pbtxt of ${name}. Escape, then Tab, leaves the editor.`}
            onSubmit={onSubmit}
          />
        </Suspense>
      </div>
    </Card>
  );
}

function originalOf(against: Exclude<Against, "theirs">, model: SourceModel, start: string, file: string): string | null {
  switch (against) {
    case "none":
      return null;
    case "shown":
      return start;
    case "file":
      return file;
    case "completed":
      return model.completeText;
  }
}

/** Ctrl S saves, Ctrl Shift D shows the difference to what the runtime completes. */
function useKeys(save: () => void, toggleDiff: () => void): void {
  const handlers = useRef({ save, toggleDiff });
  useEffect(() => {
    handlers.current = { save, toggleDiff };
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey)) return;
      const key = event.key.toLowerCase();
      if (key === "s" && !event.shiftKey) handlers.current.save();
      else if (key === "d" && event.shiftKey) handlers.current.toggleDiff();
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

/** config.pbtxt in CodeMirror: colours, problem marks, and the difference to another text on demand. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useImperativeHandle, useRef, type Ref } from "react";
import { toDiagnostics, type TextProblem } from "./diagnostics";
import { pbtxtLanguage } from "./pbtxt-language";
import { pbtxtTheme } from "./pbtxt-theme";

export interface PbtxtEditorHandle {
  /** Puts the cursor there and scrolls to it; lines and columns count from 1. */
  goTo: (line: number, column: number | null) => void;
}

export interface PbtxtEditorProps {
  value: string;
  onChange?: (value: string) => void;
  problems?: readonly TextProblem[];
  /** Shows the changes against this text. */
  original?: string | null;
  readOnly?: boolean;
  /** Accessible name of the editor. */
  label: string;
  /** Ctrl/⌘ Enter. */
  onSubmit?: () => void;
  ref?: Ref<PbtxtEditorHandle>;
}

const fromOutside = Annotation.define<boolean>();

const merge = (original: string | null) =>
  original === null
    ? []
    : unifiedMergeView({
        original,
        mergeControls: false,
        gutter: true,
        highlightChanges: true,
        collapseUnchanged: { margin: 3, minSize: 6 },
      });

export function PbtxtEditor({ value, onChange, problems = [], original = null, readOnly = false, label, onSubmit, ref }: PbtxtEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const parts = useRef({ merge: new Compartment(), access: new Compartment() });
  const handlers = useRef({ onChange, onSubmit });
  useEffect(() => {
    handlers.current = { onChange, onSubmit };
  });
  const initial = useRef({ value, original, readOnly, label });

  useEffect(() => {
    if (!host.current) return undefined;
    const start = initial.current;
    const submit = () => {
      handlers.current.onSubmit?.();
      return handlers.current.onSubmit !== undefined;
    };
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: start.value,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          bracketMatching(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          indentUnit.of("  "),
          pbtxtLanguage(),
          pbtxtTheme,
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: submit }])),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": start.label, tabindex: "0" }),
          parts.current.merge.of(merge(start.original)),
          parts.current.access.of(EditorState.readOnly.of(start.readOnly)),
          EditorView.updateListener.of((update) => {
            const mine = update.transactions.some((transaction) => transaction.annotation(fromOutside));
            if (update.docChanged && !mine) handlers.current.onChange?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = undefined;
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const now = editor.state.doc.toString();
    if (now === value) return;
    // Only the part that differs is replaced, so that cursor, marks and scroll position stay where they were.
    let from = 0;
    while (from < now.length && from < value.length && now[from] === value[from]) from += 1;
    let same = 0;
    while (same < now.length - from && same < value.length - from && now[now.length - 1 - same] === value[value.length - 1 - same])
      same += 1;
    editor.dispatch({
      changes: { from, to: now.length - same, insert: value.slice(from, value.length - same) },
      annotations: fromOutside.of(true),
    });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.merge.reconfigure(merge(original)) });
  }, [original]);

  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.access.reconfigure(EditorState.readOnly.of(readOnly)) });
  }, [readOnly]);

  useEffect(() => {
    const editor = view.current;
    if (editor) editor.dispatch(setDiagnostics(editor.state, toDiagnostics(editor.state.doc, problems)));
  }, [problems]);

  useImperativeHandle(
    ref,
    () => ({
      goTo: (line, column) => {
        const editor = view.current;
        if (!editor) return;
        const target = editor.state.doc.line(Math.min(Math.max(1, line), editor.state.doc.lines));
        const position = Math.min(target.from + Math.max((column ?? 1) - 1, 0), target.to);
        editor.dispatch({
          selection: { anchor: position },
          effects: EditorView.scrollIntoView(position, { y: "center" }),
        });
        editor.focus();
      },
    }),
    [],
  );

  return <div ref={host} style={{ height: "100%", minHeight: 0, overflow: "hidden" }} />;
}

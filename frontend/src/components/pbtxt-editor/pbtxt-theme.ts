/** The editor in the studio's tokens, so that light and dark follow the page without a rebuild. */
import { EditorView } from "@codemirror/view";

export const pbtxtTheme = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "19px", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 16px 0 6px" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--ink-3)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "34px", padding: "0 4px 0 8px" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--surface-2) 75%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--surface-2)", color: "var(--ink-2)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-gutter-lint": { width: "20px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0 2px" },
  ".cm-lint-marker": { width: "14px", height: "14px", marginTop: "2px" },
  ".cm-lint-marker-error": {
    content: "none",
    borderRadius: "50%",
    backgroundColor: "var(--error)",
    border: "3px solid var(--error-bg)",
  },
  ".cm-lint-marker-warning": {
    content: "none",
    backgroundColor: "var(--warn)",
    clipPath: "polygon(50% 8%, 100% 92%, 0 92%)",
  },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--error) 1px",
    textUnderlineOffset: "3px",
  },
  ".cm-lintRange-warning": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--warn) 1px",
    textUnderlineOffset: "3px",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line-2)",
    borderRadius: "6px",
    boxShadow: "var(--float-shadow)",
    overflow: "hidden",
  },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--font-ui)", fontSize: "12.5px", maxWidth: "420px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--error)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panel input, .cm-panel button": {
    font: "inherit",
    color: "var(--ink)",
    backgroundImage: "none",
    backgroundColor: "var(--surface)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--warn-bg)" },
  ".cm-insertedLine, &.cm-merge-b .cm-changedLine": {
    backgroundColor: "var(--ok-bg)",
    boxShadow: "inset 2px 0 var(--ok)",
  },
  ".cm-deletedChunk": { backgroundColor: "var(--error-bg)", boxShadow: "inset 2px 0 var(--error)", paddingLeft: "6px" },
  ".cm-deletedLine, .cm-deletedChunk .cm-deletedText": { textDecoration: "none" },
  "& .cm-deletedChunk .cm-deletedText": {
    background: "none",
    textDecoration: "underline var(--error)",
    textUnderlineOffset: "3px",
  },
  "&.cm-merge-b .cm-changedText": {
    background: "none",
    textDecoration: "underline var(--ok)",
    textUnderlineOffset: "3px",
  },
  "&.cm-merge-b .cm-changedLineGutter": { backgroundColor: "var(--ok)" },
  "& .cm-deletedLineGutter": { backgroundColor: "var(--error)" },
});

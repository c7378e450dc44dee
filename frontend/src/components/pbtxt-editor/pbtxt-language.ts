/** Colours for protobuf text format: comments, field names, strings, numbers and enum values. */
import { HighlightStyle, LanguageSupport, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const FIELD = /^[A-Za-z_][\w.]*(?=\s*[:{<[])/;
const WORD = /^[A-Za-z_][\w.]*/;
const NUMBER = /^[+-]?(?:0x[\da-f]+|\d+\.?\d*(?:e[+-]?\d+)?f?|\.\d+f?)/i;
const STRING = /^(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/;

const pbtxt = StreamLanguage.define<null>({
  name: "pbtxt",
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(STRING)) return "string";
    if (stream.match(FIELD)) return "propertyName";
    if (stream.match(NUMBER)) return "number";
    if (stream.match(WORD)) return "atom";
    stream.next();
    return "punctuation";
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["{", "[", '"'] } },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
  { tag: tags.propertyName, color: "var(--code-keyword)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.atom, color: "var(--code-enum)" },
  { tag: tags.punctuation, color: "var(--ink-2)" },
]);

export function pbtxtLanguage() {
  return [new LanguageSupport(pbtxt), syntaxHighlighting(colours)];
}

/**
 * A position-keeping reader of protobuf text format: it knows where every field of a config.pbtxt starts and ends, so that
 * an edit replaces exactly the characters it means. The server stays the judge of validity; this reader only has to agree
 * with it on structure.
 */
import { t } from "@lingui/core/macro";

export interface ScalarNode {
  kind: "scalar";
  /** The source text, quotes included; adjacent strings are one scalar. */
  text: string;
  start: number;
  end: number;
}

interface ListNode {
  kind: "list";
  items: ValueNode[];
  start: number;
  end: number;
}

export interface MessageNode {
  kind: "message";
  fields: FieldNode[];
  /** Offset of the opening bracket, and one past the closing one. */
  start: number;
  end: number;
}

type ValueNode = ScalarNode | ListNode | MessageNode;

export interface FieldNode {
  name: string;
  value: ValueNode;
  start: number;
  /** One past the value, or past the separator that follows it. */
  end: number;
}

export class PbtxtSyntaxError extends Error {
  constructor(
    message: string,
    readonly line: number,
    readonly column: number,
  ) {
    super(message);
    this.name = "PbtxtSyntaxError";
  }
}

interface Token {
  type: "word" | "string" | "punctuation" | "end";
  text: string;
  start: number;
  end: number;
}

const WORD = /[A-Za-z0-9_+\-./]/;
const PUNCTUATION = "{}<>[]:,;";

function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - before.lastIndexOf("\n") };
}

class Reader {
  private token: Token;

  constructor(private readonly text: string) {
    this.token = this.scan(0);
  }

  document(): FieldNode[] {
    const fields = this.fields("end of file");
    if (this.token.type !== "end") this.fail(t`Unexpected '${this.token.text}'.`);
    return fields;
  }

  private fields(until: string): FieldNode[] {
    const fields: FieldNode[] = [];
    while (this.token.type !== "end" && !(this.token.type === "punctuation" && this.token.text === until)) {
      fields.push(this.field());
    }
    return fields;
  }

  private field(): FieldNode {
    const start = this.token.start;
    const name = this.fieldName();
    const colon = this.isPunctuation(":");
    if (colon) this.advance();
    const value = this.value(!colon);
    let end = value.end;
    if (this.isPunctuation(",") || this.isPunctuation(";")) {
      end = this.token.end;
      this.advance();
    }
    return { name, value, start, end };
  }

  private fieldName(): string {
    if (this.isPunctuation("[")) {
      this.advance();
      const name = this.expectWord(t`an extension name`);
      if (!this.isPunctuation("]")) this.fail(t`Expected ']' after the extension name.`);
      this.advance();
      return `[${name}]`;
    }
    return this.expectWord(t`a field name`);
  }

  private expectWord(what: string): string {
    if (this.token.type !== "word") this.fail(t`Expected ${what}, found ${this.shown()}.`);
    const text = this.token.text;
    this.advance();
    return text;
  }

  private value(mustBeMessage: boolean): ValueNode {
    if (this.isPunctuation("{") || this.isPunctuation("<")) return this.message();
    if (this.isPunctuation("[")) return this.list();
    // why not in the text itself: a brace there would begin a placeholder.
    const brace = "{";
    if (mustBeMessage) this.fail(t`Expected ':' or '${brace}' before ${this.shown()}.`);
    return this.scalar();
  }

  private message(): MessageNode {
    const start = this.token.start;
    const close = this.token.text === "{" ? "}" : ">";
    this.advance();
    const fields = this.fields(close);
    if (!this.isPunctuation(close)) this.fail(t`Expected '${close}', found ${this.shown()}.`);
    const end = this.token.end;
    this.advance();
    return { kind: "message", fields, start, end };
  }

  private list(): ListNode {
    const start = this.token.start;
    this.advance();
    const items: ValueNode[] = [];
    while (!this.isPunctuation("]")) {
      items.push(this.value(false));
      if (this.isPunctuation(",")) this.advance();
      else if (!this.isPunctuation("]")) this.fail(t`Expected ',' or ']', found ${this.shown()}.`);
    }
    const end = this.token.end;
    this.advance();
    return { kind: "list", items, start, end };
  }

  private scalar(): ScalarNode {
    const { type, start } = this.token;
    if (type !== "word" && type !== "string") this.fail(t`Expected a value, found ${this.shown()}.`);
    let end = this.token.end;
    this.advance();
    while (type === "string" && this.token.type === "string") {
      end = this.token.end;
      this.advance();
    }
    return { kind: "scalar", text: this.text.slice(start, end), start, end };
  }

  private isPunctuation(text: string): boolean {
    return this.token.type === "punctuation" && this.token.text === text;
  }

  private shown(): string {
    return this.token.type === "end" ? t`the end of the file` : `'${this.token.text}'`;
  }

  private advance(): void {
    this.token = this.scan(this.token.end);
  }

  private scan(from: number): Token {
    let at = from;
    for (; at < this.text.length; at += 1) {
      const character = this.text.charAt(at);
      if (character === "#") {
        while (at + 1 < this.text.length && this.text.charAt(at + 1) !== "\n") at += 1;
      } else if (!/\s/.test(character)) break;
    }
    if (at >= this.text.length) return { type: "end", text: "", start: this.text.length, end: this.text.length };
    const first = this.text.charAt(at);
    if (first === '"' || first === "'") return this.scanString(at, first);
    if (PUNCTUATION.includes(first)) return { type: "punctuation", text: first, start: at, end: at + 1 };
    if (!WORD.test(first)) this.failAt(t`Unexpected character '${first}'.`, at);
    let end = at + 1;
    while (end < this.text.length && WORD.test(this.text.charAt(end))) end += 1;
    return { type: "word", text: this.text.slice(at, end), start: at, end };
  }

  private scanString(start: number, quote: string): Token {
    let at = start + 1;
    while (at < this.text.length && this.text.charAt(at) !== quote) {
      if (this.text.charAt(at) === "\n") break;
      at += this.text.charAt(at) === "\\" ? 2 : 1;
    }
    if (this.text.charAt(at) !== quote) this.failAt(t`This string is not closed.`, start);
    return { type: "string", text: this.text.slice(start, at + 1), start, end: at + 1 };
  }

  private fail(message: string): never {
    this.failAt(message, this.token.start);
  }

  private failAt(message: string, offset: number): never {
    const { line, column } = lineAndColumn(this.text, offset);
    throw new PbtxtSyntaxError(message, line, column);
  }
}

/** Reads a whole file. Throws PbtxtSyntaxError with a 1-based line and column. */
export function parsePbtxt(text: string): FieldNode[] {
  return new Reader(text).document();
}

/** The messages of a repeated or singular message field, written either as `f { }` several times or as `f [ { }, { } ]`. */
export function messagesOf(fields: FieldNode[], name: string): MessageNode[] {
  const found: MessageNode[] = [];
  for (const field of fields) {
    if (field.name !== name) continue;
    const values = field.value.kind === "list" ? field.value.items : [field.value];
    for (const value of values) if (value.kind === "message") found.push(value);
  }
  return found;
}

/** The scalars of a repeated or singular scalar field, in order. */
export function scalarsOf(fields: FieldNode[], name: string): ScalarNode[] {
  const found: ScalarNode[] = [];
  for (const field of fields) {
    if (field.name !== name) continue;
    const values = field.value.kind === "list" ? field.value.items : [field.value];
    for (const value of values) if (value.kind === "scalar") found.push(value);
  }
  return found;
}

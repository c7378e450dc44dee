/** JSON without loss: whole numbers beyond 2^53 become text, and so do NaN and Infinity of a lenient writer. */

const SUSPICIOUS = /\d{16}|NaN|Infinity/;
// Strings are matched first, so that what looks like a number inside one is left alone; by runs, because a step per character
// exhausts the stack on the megabytes of a raw tensor. One without an end reaches to the end of the text, and is read but once.
const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|-?Infinity|NaN|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

function keep(token: string): string {
  if (token.startsWith('"')) return token;
  return Number.isSafeInteger(Number(token)) ? token : `"${token}"`;
}

/** Throws SyntaxError like JSON.parse. */
export function parseExactly(text: string): unknown {
  return JSON.parse(SUSPICIOUS.test(text) ? text.replace(TOKENS, keep) : text);
}

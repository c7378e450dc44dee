/** How a file is shown: by its name, and by its first bytes. Pure. */
import { t } from "@lingui/core/macro";

export type PreviewKind = "config" | "text" | "json" | "labels" | "image" | "npy" | "onnx" | "hex";

/** Texts are read up to here, and the graph of an ONNX file, whose weights come last; anything else only its head. */
export const TEXT_BYTES = 512 * 1024;
export const HEAD_BYTES = 4096;

const TEXT =
  /\.(txt|md|json|ya?ml|toml|py|csv|tsv|cfg|ini|xml|html|js|sh|pbtxt|prototxt|vocab|merges)$|(^|\/)(README|LICENSE|Dockerfile|requirements.*)$/i;
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;
const LABELS = /(^|\/)[^/]*(labels?|classes|synset)[^/]*\.txt$/i;

export function wantedKind(path: string, labelFiles: readonly string[] = []): PreviewKind {
  if (path.endsWith("config.pbtxt")) return "config";
  if (labelFiles.includes(path) || LABELS.test(path)) return "labels";
  if (IMAGE.test(path)) return "image";
  if (/\.json$/i.test(path)) return "json";
  if (/\.npy$/i.test(path)) return "npy";
  if (/\.onnx$/i.test(path)) return "onnx";
  return TEXT.test(path) ? "text" : "hex";
}

/** How much of a file is read to show it. */
export const headBytes = (kind: PreviewKind, size: number): number =>
  Math.min(size, kind === "hex" || kind === "npy" ? HEAD_BYTES : TEXT_BYTES);

/** Why a file could not be read, and what that means. */
export function readFailure(status: number, path: string): string {
  if (status === 404)
    return t`${path} belongs to the version, but its bytes are not in the store: a disk or bucket lost them. Register the model again from its source.`;
  if (status === 401) return t`You are signed out. Sign in again to read files.`;
  if (status === 403) return t`Your role may not read files.`;
  return t`The server answered with status ${status}. Its log says more.`;
}

// JSON.parse would round such numbers.
const LONG_NUMBER = /\d{16,}/;

/** JSON with line breaks; as it is where it has them already, cannot be read, or holds numbers that would be rounded. */
export function prettyJson(text: string): { text: string; problem: string | null } {
  try {
    const value: unknown = JSON.parse(text);
    return { text: LONG_NUMBER.test(text) ? text : JSON.stringify(value, null, 2), problem: null };
  } catch (error) {
    return { text, problem: t`Not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** A text, or null where the bytes are none. A character cut in half at the end belongs to a text. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 1024).includes(0)) return null;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

export interface HexLine {
  offset: string;
  hex: string;
  text: string;
}

const WIDTH = 16;

export function hexLines(bytes: Uint8Array): HexLine[] {
  const lines: HexLine[] = [];
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const part = [...bytes.subarray(at, at + WIDTH)];
    lines.push({
      offset: at.toString(16).padStart(8, "0"),
      hex: part.map((byte) => byte.toString(16).padStart(2, "0")).join(" "),
      text: part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join(""),
    });
  }
  return lines;
}

/** Label files have a class per line; the runtime counts empty lines too. */
export const labelsOf = (text: string): string[] => text.replace(/\r?\n$/, "").split(/\r?\n/);

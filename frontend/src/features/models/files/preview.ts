/** How a file is shown: by its name, and by its first bytes. Pure. */

export type PreviewKind = "config" | "text" | "labels" | "image" | "hex";

/** Texts are read up to here, anything else only its head. */
export const TEXT_BYTES = 512 * 1024;
export const HEAD_BYTES = 4096;

const TEXT = /\.(txt|md|json|ya?ml|toml|py|csv|tsv|cfg|ini|xml|html|js|sh|pbtxt|prototxt|vocab|merges)$|(^|\/)(README|LICENSE|Dockerfile|requirements.*)$/i;
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;
const LABELS = /(^|\/)[^/]*(labels?|classes|synset)[^/]*\.txt$/i;

export function wantedKind(path: string, labelFiles: readonly string[] = []): PreviewKind {
  if (path.endsWith("config.pbtxt")) return "config";
  if (labelFiles.includes(path) || LABELS.test(path)) return "labels";
  if (IMAGE.test(path)) return "image";
  return TEXT.test(path) ? "text" : "hex";
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

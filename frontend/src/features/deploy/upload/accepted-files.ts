/** What was dropped, made into one upload: a file as it is, several files or a folder as one archive. */
import { t } from "@lingui/core/macro";
import type { Dropped } from "@/app/dropped-files";
import { MOST_BYTES, MOST_FILES } from "./stored-zip";

export type Selection =
  { kind: "file"; file: File } | { kind: "pack"; name: string; files: Dropped[]; size: number } | { kind: "refused"; reason: string };

/** Kinds that no server-side reader takes, with what to do instead. All others are judged by the server, by content. */
const REASONS: [RegExp, string][] = [
  [/\.(safetensors|ckpt|h5|keras)$/i, t`This file holds weights without a graph. Export the model to ONNX and drop the .onnx file.`],
  [/\.(7z|rar)$/i, t`This archive format is not read. Pack the model repository as a .zip.`],
  [
    /\.(pkl|pickle|joblib)$/i,
    t`Pickled Python objects can run code when opened, so they are refused. Export to ONNX, for example with skl2onnx.`,
  ],
  [/\.(tflite|mlmodel)$/i, t`This format is not served. Convert it to ONNX, for example with tf2onnx.`],
];
/** What file managers leave behind. */
const LITTER = /(^|\/)(\.DS_Store|Thumbs\.db|desktop\.ini|__MACOSX\/.*|\.git\/.*|__pycache__\/.*)$/;
const ENDINGS = /\.(tar\.gz|tar\.bz2|tar\.xz|tgz|tbz2|txz|tar|zip|onnx|ptl?|pth|pt2|plan|engine|xml|py|json|ubj|txt|graphdef)$/i;
const MODELS = /\.(onnx|pt|pth|pt2|plan|engine|xml|py|ubj)$/i;

/** null when the file may be uploaded, else why not. */
export function refusal(filename: string, size: number): string | null {
  const known = REASONS.find(([pattern]) => pattern.test(filename));
  if (known) return known[1];
  return size === 0 ? t`${filename} is empty.` : null;
}

/** A first name for the model: the file's, without its ending and with odd characters folded to dashes. */
export function modelNameFrom(filename: string): string {
  const stem = filename.replace(/^.*[\\/]/, "").replace(ENDINGS, "");
  return (
    stem
      .normalize("NFKD")
      .replace(/\p{M}+/gu, "")
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .slice(0, 64) || "model"
  );
}

function packName(files: readonly Dropped[]): string {
  const roots = new Set(files.map(({ path }) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "")));
  const root = [...roots][0];
  if (roots.size === 1 && root) return `${root}.zip`;
  const model = files.find(({ path }) => MODELS.test(path)) ?? files[0];
  return `${modelNameFrom(model?.path ?? "model")}.zip`;
}

export function selectionOf(dropped: readonly Dropped[]): Selection {
  const files = dropped.filter(({ path }) => !LITTER.test(path));
  const only = files.length === 1 ? files[0] : undefined;
  if (files.length === 0) return { kind: "refused", reason: t`There is no file in what was dropped.` };
  if (only && !only.path.includes("/")) {
    const reason = refusal(only.file.name, only.file.size);
    return reason === null ? { kind: "file", file: only.file } : { kind: "refused", reason };
  }
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  if (size >= MOST_BYTES - files.length * 1024 || files.length > MOST_FILES)
    return { kind: "refused", reason: t`Together these files are too large to pack in the browser. Drop them as one .zip.` };
  return { kind: "pack", name: packName(files), files: [...files], size };
}

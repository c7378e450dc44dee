/** Which files the drop zone takes, and a sentence for each kind that it does not. */

const REASONS: [RegExp, string][] = [
  [
    /\.(pt|pth|torchscript)$/i,
    "TorchScript files are not served yet. Export the model with torch.onnx.export and drop the .onnx file.",
  ],
  [/\.(plan|engine|trt)$/i, "TensorRT engines are not served yet. Drop the .onnx file that the engine was built from."],
  [
    /\.(safetensors|bin|ckpt|h5|keras)$/i,
    "This file holds weights without a graph. Export the model to ONNX and drop the .onnx file.",
  ],
  [/\.(tar|gz|tgz|bz2|xz|7z|rar)$/i, "This archive format is not read. Pack the model repository as a .zip."],
  [
    /\.(pkl|pickle|joblib)$/i,
    "Pickled Python objects can run code when opened, so they are refused. Export to ONNX, for example with skl2onnx.",
  ],
  [/\.(pb|tflite|mlmodel)$/i, "This format is not served. Convert it to ONNX, for example with tf2onnx."],
];

/** null when the file may be uploaded, else why not. */
export function refusal(filename: string, size: number): string | null {
  if (!/\.(onnx|zip)$/i.test(filename)) {
    const known = REASONS.find(([pattern]) => pattern.test(filename));
    return known ? known[1] : "Drop an ONNX model (.onnx) or a zipped model repository (.zip).";
  }
  if (size === 0) return "This file is empty.";
  return null;
}

export function refusalOfSelection(files: { name: string; size: number }[]): string | null {
  if (files.length > 1)
    return "Drop one file at a time. Several models, or a model with external data, go into one .zip.";
  const file = files[0];
  return file ? refusal(file.name, file.size) : "Drop a file, not a folder. Pack a folder as a .zip.";
}

/** A first name for the model: the file's, without its ending and with odd characters folded to dashes. */
export function modelNameFrom(filename: string): string {
  const stem = filename.replace(/^.*[\\/]/, "").replace(/\.(onnx|zip)$/i, "");
  return (
    stem
      .normalize("NFKD")
      .replace(/\p{M}+/gu, "")
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .slice(0, 64) || "model"
  );
}

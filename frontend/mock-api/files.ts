/** Bytes of the made-up versions' files, by what their names end in. */

const encoder = new TextEncoder();
const length = (size: number) => (size < 0x80 ? [size] : [(size & 0x7f) | 0x80, size >>> 7]);
const message = (number: number, bytes: ArrayLike<number>) => [number * 8 + 2, ...length(bytes.length), ...Array.from(bytes)];
const words = (number: number, text: string) => message(number, encoder.encode(text));
const node = (operator: string) => message(1, [...words(1, "x"), ...words(2, "y"), ...words(4, operator)]);

function onnx(): Uint8Array {
  const nodes = ["Conv", "BatchNormalization", "Relu"].flatMap((operator) => Array.from({ length: 16 }, () => node(operator)).flat());
  const graph = [...nodes, ...node("Gemm"), ...words(2, "resnet")];
  return new Uint8Array([8, 8, ...words(2, "pytorch"), ...words(3, "2.5.1"), ...message(7, graph), ...message(8, [16, 17])]);
}

function npy(): Uint8Array {
  const text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 224, 224), }\n";
  return new Uint8Array([0x93, ...encoder.encode("NUMPY"), 1, 0, text.length, 0, ...encoder.encode(text)]);
}

const CONTENTS: [RegExp, () => Uint8Array][] = [
  [/\.onnx$/, onnx],
  [/\.npy$/, npy],
  [/\.json$/, () => encoder.encode('{"vocabulary":30522,"lower":true,"special":["[CLS]","[SEP]"]}')],
  [/labels\.txt$/, () => encoder.encode("tench\ngoldfish\ngreat white shark\n")],
  [/\.pbtxt$/, () => encoder.encode('name: "resnet50"\nbackend: "onnxruntime"\nmax_batch_size: 64\n')],
];

/** The answer to a read of a file; null for other paths. Files that end in `.lost` are not in the store. */
export function fileAnswer(path: readonly string[], range: string | null): Response | null {
  if (path[0] !== "models" || path[4] !== "files" || path.length < 6) return null;
  const name = path.at(-1) ?? "";
  if (name.endsWith(".lost")) return new Response("{}", { status: 404 });
  const bytes = CONTENTS.find(([ending]) => ending.test(name))?.[1]() ?? new Uint8Array(256).map((_, index) => index);
  const [from = 0, to = bytes.length - 1] = (range ?? "").replace("bytes=", "").split("-").filter(Boolean).map(Number);
  return new Response(bytes.slice(from, to + 1), { status: 206 });
}

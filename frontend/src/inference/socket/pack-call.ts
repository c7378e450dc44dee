/** A call as the socket's frames: small tensors inside the text, large ones as bytes behind it. Pure. */
import { t } from "@lingui/core/macro";
import { bytes } from "@/components/format";
import { base64 } from "../tensor/raw-bytes";
import type { InferCall, Limits } from "./messages";

/** Below this a tensor travels inside the text. */
const INLINE_BYTES = 64 * 1024;
const FRAME_BYTES = 1 << 20;

export type Packed = { text: string; frames: Uint8Array<ArrayBuffer>[] } | { refused: string };

export function packCall(id: string, call: InferCall, limits: Limits | null): Packed {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const inputs = call.inputs.map((input) => {
    if (!("raw" in input.data)) return input;
    const { raw } = input.data;
    if (raw.length < INLINE_BYTES) return { ...input, data: { b64: base64(raw) } };
    const before = frames.length;
    for (let at = 0; at < raw.length; at += FRAME_BYTES) frames.push(raw.subarray(at, at + FRAME_BYTES));
    size += raw.length;
    return { ...input, data: { frames: frames.length - before } };
  });
  if (limits && size > limits.binary_bytes) return { refused: tooLarge(size, limits.binary_bytes) };
  const text = JSON.stringify({ op: "infer", id, ...call, inputs });
  if (limits && text.length > limits.request_chars) return { refused: tooLarge(text.length, limits.request_chars) };
  return { text, frames };
}

const tooLarge = (size: number, limit: number): string =>
  t`The request holds ${bytes(size)}; the console sends at most ${bytes(limit)} per call. Send it with a client: the code for it is under Code.`;

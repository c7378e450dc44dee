/** SHA-256 of a file of any size, read in slices: WebCrypto can only hash what is wholly in memory. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

const SLICE_BYTES = 4 * 1024 * 1024;

/** Hex digest; `onProgress` gets the bytes hashed so far. */
export async function sha256Of(blob: Blob, onProgress: (bytes: number) => void): Promise<string> {
  const hash = sha256.create();
  for (let start = 0; start < blob.size; start += SLICE_BYTES) {
    const slice = blob.slice(start, Math.min(start + SLICE_BYTES, blob.size));
    hash.update(new Uint8Array(await slice.arrayBuffer()));
    onProgress(Math.min(start + SLICE_BYTES, blob.size));
  }
  return bytesToHex(hash.digest());
}

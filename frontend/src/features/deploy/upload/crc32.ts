/** CRC-32 as zip archives have it, in pieces. */
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** `crc` is the result for what came before; 0 at the start. */
export function crc32(bytes: Uint8Array, crc = 0): number {
  let value = ~crc >>> 0;
  for (const byte of bytes) value = (TABLE[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return ~value >>> 0;
}

const SLICE_BYTES = 4 * 1024 * 1024;

export async function crc32Of(blob: Blob, onProgress: (bytes: number) => void): Promise<number> {
  let crc = 0;
  for (let start = 0; start < blob.size; start += SLICE_BYTES) {
    const end = Math.min(start + SLICE_BYTES, blob.size);
    crc = crc32(new Uint8Array(await blob.slice(start, end).arrayBuffer()), crc);
    onProgress(end - start);
  }
  return crc;
}

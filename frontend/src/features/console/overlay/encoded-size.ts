/** The size that a PNG or JPEG file says it has. Pure. */
export interface PictureSize {
  width: number;
  height: number;
}

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Width and height stand in the first chunk. */
const PNG_SIZE_AT = 16;

const begins = (bytes: Uint8Array, mark: readonly number[]): boolean => mark.every((byte, at) => bytes[at] === byte);

/** Frame headers; between them lie tables (C4, CC) and what C8 is kept for. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(bytes: Uint8Array): PictureSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    // A marker may be filled up with FF before it.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

/** Null for anything else, and for a picture of nothing. */
export function encodedSize(bytes: Uint8Array): PictureSize | null {
  let size: PictureSize | null = null;
  if (begins(bytes, PNG) && bytes.length >= PNG_SIZE_AT + 8) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    size = { width: view.getUint32(PNG_SIZE_AT), height: view.getUint32(PNG_SIZE_AT + 4) };
  } else if (begins(bytes, [0xff, 0xd8, 0xff])) size = jpegSize(bytes);
  return size !== null && size.width > 0 && size.height > 0 ? size : null;
}

/**
 * Several files as one .zip without compressing or copying them: only headers are made, the bytes stay where they are. The same
 * files give the same bytes, so that an upload of them can be resumed after the page was left.
 */

export interface PackedFile {
  /** With slashes, relative. */
  path: string;
  blob: Blob;
  crc: number;
}

/** The plain format ends at 4 GiB and 65,535 files. */
export const MOST_BYTES = 0xffffffff;
export const MOST_FILES = 0xffff;

const VERSION = 20;
const UTF8_NAMES = 0x0800;
/** 1980-01-01 00:00: the first moment that the format knows. */
const DATE = 0x0021;

function header(size: number, fields: [number, 2 | 4][]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(size));
  let at = 0;
  for (const [value, width] of fields) {
    if (width === 2) bytes.setUint16(at, value, true);
    else bytes.setUint32(at, value, true);
    at += width;
  }
  return new Uint8Array(bytes.buffer);
}

function common(file: PackedFile, name: Uint8Array): [number, 2 | 4][] {
  return [
    [VERSION, 2],
    [UTF8_NAMES, 2],
    [0, 2],
    [0, 2],
    [DATE, 2],
    [file.crc, 4],
    [file.blob.size, 4],
    [file.blob.size, 4],
    [name.length, 2],
    [0, 2],
  ];
}

export function storedZip(files: readonly PackedFile[]): Blob {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const parts: BlobPart[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  let directorySize = 0;
  for (const file of sorted) {
    const name = new TextEncoder().encode(file.path);
    const local = header(30, [[0x04034b50, 4], ...common(file, name)]);
    const entry = header(46, [[0x02014b50, 4], [VERSION, 2], ...common(file, name), [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]]);
    parts.push(local as BlobPart, name as BlobPart, file.blob);
    directory.push(entry, name);
    offset += local.length + name.length + file.blob.size;
    directorySize += entry.length + name.length;
  }
  const end = header(22, [
    [0x06054b50, 4],
    [0, 2],
    [0, 2],
    [sorted.length, 2],
    [sorted.length, 2],
    [directorySize, 4],
    [offset, 4],
    [0, 2],
  ]);
  return new Blob([...parts, ...(directory as BlobPart[]), end as BlobPart], { type: "application/zip" });
}

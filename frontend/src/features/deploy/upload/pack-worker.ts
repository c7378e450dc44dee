/** Web worker: several files become one .zip. In: the files. Out: `{bytes}` read so far, then `{zip}` or `{error}`. */
import { crc32Of } from "./crc32";
import { storedZip } from "./stored-zip";

export interface PackInput {
  path: string;
  blob: Blob;
}
export type PackMessage = { bytes: number } | { zip: Blob } | { error: string };

const tell = (message: PackMessage): void => self.postMessage(message);

async function pack(files: PackInput[]): Promise<Blob> {
  let read = 0;
  const packed = [];
  for (const { path, blob } of files) {
    const crc = await crc32Of(blob, (bytes) => {
      read += bytes;
      tell({ bytes: read });
    });
    packed.push({ path, blob, crc });
  }
  return storedZip(packed);
}

self.onmessage = (event: MessageEvent<PackInput[]>) => {
  pack(event.data).then(
    (zip) => tell({ zip }),
    (error: unknown) => tell({ error: String(error) }),
  );
};

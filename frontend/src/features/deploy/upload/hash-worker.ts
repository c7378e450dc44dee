/** Web worker: hashes one file off the main thread. In: the file. Out: `{bytes}` as it goes, then `{sha256}` or `{error}`. */
import { sha256Of } from "./sha256-stream";

export type HashMessage = { bytes: number } | { sha256: string } | { error: string };

const post = (message: HashMessage): void => self.postMessage(message);

self.onmessage = (event: MessageEvent<Blob>) => {
  sha256Of(event.data, (bytes) => post({ bytes })).then(
    (sha256) => post({ sha256 }),
    (error: unknown) => post({ error: String(error) }),
  );
};

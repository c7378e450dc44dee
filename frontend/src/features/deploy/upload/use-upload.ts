/** One upload as the page sees it: choose, watch, cancel, go on with an earlier one. */
import { t } from "@lingui/core/macro";
import { useCallback, useEffect, useReducer, useRef } from "react";
import { deleteUpload } from "@/api/uploads";
import type { Selection } from "./accepted-files";
import type { HashMessage } from "./hash-worker";
import type { PackInput, PackMessage } from "./pack-worker";
import { sendFile } from "./send-chunks";
import { browserClock, uploadServer } from "./upload-server";
import { IDLE_UPLOAD, uploadReducer, type UploadEvent, type UploadView } from "./upload-machine";

type Sendable = Exclude<Selection, { kind: "refused" }>;

interface Resumable {
  id: string;
  offset: number;
  chunkSize: number;
}

/** Runs a worker of ours until `done` finds the answer in one of its messages. */
function runWorker<Message extends object, Answer>(
  worker: Worker,
  input: unknown,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
  done: (message: Message) => Answer | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      worker.terminate();
      settle();
    };
    signal.addEventListener("abort", () => end(() => reject(new DOMException("Canceled", "AbortError"))));
    worker.onmessage = ({ data }: MessageEvent<Message | { bytes: number } | { error: string }>) => {
      if ("bytes" in data) return onProgress(data.bytes);
      if ("error" in data) return end(() => reject(new Error(data.error)));
      const answer = done(data);
      if (answer !== undefined) end(() => resolve(answer));
    };
    worker.onerror = (event) => end(() => reject(new Error(event.message || t`The worker failed`)));
    worker.postMessage(input);
  });
}

/** Hex digest of the file. */
const hashInWorker = (file: File, signal: AbortSignal, onProgress: (bytes: number) => void): Promise<string> =>
  runWorker<HashMessage, string>(
    new Worker(new URL("./hash-worker.ts", import.meta.url), { type: "module" }),
    file,
    signal,
    onProgress,
    (message) => ("sha256" in message ? message.sha256 : undefined),
  );

/** One archive of all files. */
const packInWorker = (files: PackInput[], signal: AbortSignal, onProgress: (bytes: number) => void): Promise<Blob> =>
  runWorker<PackMessage, Blob>(
    new Worker(new URL("./pack-worker.ts", import.meta.url), { type: "module" }),
    files,
    signal,
    onProgress,
    (message) => ("zip" in message ? message.zip : undefined),
  );

export interface UploadControl {
  view: UploadView;
  /** With `resume`, the same selection as before must be given again. */
  start: (selection: Sendable, resume?: Resumable) => void;
  cancel: () => void;
  reset: () => void;
}

export function useUpload(): UploadControl {
  const [view, dispatch] = useReducer(uploadReducer, IDLE_UPLOAD);
  const running = useRef<AbortController>(undefined);
  const created = useRef<string>(undefined);

  useEffect(() => () => running.current?.abort(), []);

  const start = useCallback((selection: Sendable, resume?: Resumable) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const emit = (event: UploadEvent) => {
      if (running.current !== controller) return;
      if (event.type === "created") created.current = event.uploadId;
      dispatch(event);
    };
    const sendOne = (file: File) => {
      emit({ type: "chosen", filename: file.name, size: file.size });
      const sha256 = hashInWorker(file, controller.signal, (bytes) => emit({ type: "hashed", bytes }));
      // Looked at only when all bytes are sent: until then a failure must not count as unhandled.
      sha256.catch(() => undefined);
      void sendFile({
        file,
        ...(resume ? { resume } : {}),
        sha256,
        server: uploadServer,
        clock: browserClock,
        signal: controller.signal,
        emit,
      });
    };
    if (selection.kind === "file") return sendOne(selection.file);
    const { name, size, files } = selection;
    emit({ type: "packing", filename: name, size });
    const inputs = files.map(({ path, file }) => ({ path, blob: file }));
    packInWorker(inputs, controller.signal, (bytes) => emit({ type: "packed", bytes })).then(
      (zip) => sendOne(new File([zip], name, { type: "application/zip" })),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const failure = {
          title: t`The files could not be packed.`,
          detail: String(error),
          hints: [t`Choose them again; one may have been moved or changed.`],
        };
        emit({ type: "failed", failure });
      },
    );
  }, []);

  const cancel = useCallback(() => {
    const id = created.current;
    running.current?.abort();
    dispatch({ type: "canceled" });
    // What was sent is of no use any more. The server forgets it by itself should this call not arrive.
    if (id !== undefined) deleteUpload(id).catch(() => undefined);
    created.current = undefined;
  }, []);

  const reset = useCallback(() => dispatch({ type: "reset" }), []);

  return { view, start, cancel, reset };
}

/** One upload as the page sees it: choose, watch, cancel, go on with an earlier one. */
import { useCallback, useEffect, useReducer, useRef } from "react";
import { deleteUpload } from "@/api/uploads";
import type { HashMessage } from "./hash-worker";
import { sendFile } from "./send-chunks";
import { browserClock, uploadServer } from "./upload-server";
import { IDLE_UPLOAD, uploadReducer, type UploadEvent, type UploadView } from "./upload-machine";

export interface Resumable {
  id: string;
  offset: number;
  chunkSize: number;
}

/** Hex digest of the file, computed in a worker of its own. */
function hashInWorker(file: File, signal: AbortSignal, onProgress: (bytes: number) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./hash-worker.ts", import.meta.url), { type: "module" });
    const end = (settle: () => void) => {
      worker.terminate();
      settle();
    };
    signal.addEventListener("abort", () => end(() => reject(new DOMException("Canceled", "AbortError"))));
    worker.onmessage = ({ data }: MessageEvent<HashMessage>) => {
      if ("bytes" in data) onProgress(data.bytes);
      else if ("sha256" in data) end(() => resolve(data.sha256));
      else end(() => reject(new Error(data.error)));
    };
    worker.onerror = (event) => end(() => reject(new Error(event.message || "The checksum worker failed")));
    worker.postMessage(file);
  });
}

export interface UploadControl {
  view: UploadView;
  start: (file: File, resume?: Resumable) => void;
  cancel: () => void;
  reset: () => void;
}

export function useUpload(): UploadControl {
  const [view, dispatch] = useReducer(uploadReducer, IDLE_UPLOAD);
  const running = useRef<AbortController>(undefined);
  const created = useRef<string>(undefined);

  useEffect(() => () => running.current?.abort(), []);

  const start = useCallback((file: File, resume?: Resumable) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const emit = (event: UploadEvent) => {
      if (running.current !== controller) return;
      if (event.type === "created") created.current = event.uploadId;
      dispatch(event);
    };
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

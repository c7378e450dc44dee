/** The upload routes over XMLHttpRequest: the only way that tells how much of a chunk has left the browser. */
import { apiPath, getCsrfToken } from "@/api/client";
import type { ChunkAnswer, SendClock, UploadServer } from "./send-chunks";

interface Body {
  id?: string;
  offset?: number;
  chunk_size?: number;
  code?: string;
  title?: string;
  detail?: string;
  hints?: string[];
}

interface Call {
  method: string;
  path: string;
  body?: Blob | string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  onProgress?: (sent: number) => void;
}

// A chunk that has stood still for this long is tried again.
const STALLED_MS = 60_000;

function send({ method, path, body, headers = {}, signal, onProgress }: Call): Promise<{ status: number; body: Body }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let lastMove = performance.now();
    request.open(method, path);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", getCsrfToken());
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    const watch = setInterval(() => {
      if (performance.now() - lastMove > STALLED_MS) request.abort();
    }, 5_000);
    const stop = () => request.abort();
    signal?.addEventListener("abort", stop);
    request.upload.onprogress = (event) => {
      lastMove = performance.now();
      onProgress?.(event.loaded);
    };
    request.onloadend = () => {
      clearInterval(watch);
      signal?.removeEventListener("abort", stop);
    };
    request.onload = () => resolve({ status: request.status, body: parse(request.responseText) });
    request.onerror = () => reject(new TypeError("The connection was lost"));
    request.onabort = () => reject(new TypeError("The request was stopped"));
    if (signal?.aborted) request.abort();
    else request.send(body ?? null);
  });
}

function parse(text: string): Body {
  if (text === "") return {};
  try {
    return JSON.parse(text) as Body;
  } catch {
    // A proxy's own error page: the status says enough.
    return { detail: text.slice(0, 300) };
  }
}

function answerOf({ status, body }: { status: number; body: Body }): ChunkAnswer {
  return {
    status,
    offset: body.offset ?? null,
    code: body.code ?? null,
    title: body.title ?? null,
    detail: body.detail ?? null,
    hints: body.hints ?? [],
  };
}

const JSON_BODY = { "Content-Type": "application/json" };

async function checksum(chunk: Blob): Promise<Record<string, string>> {
  // Plain HTTP on another host has no WebCrypto; the digest of the whole file still guards the upload.
  if (!("crypto" in globalThis) || !globalThis.isSecureContext) return {};
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await chunk.arrayBuffer()));
  return { "Upload-Checksum": `sha256 ${btoa(String.fromCharCode(...digest))}` };
}

export const uploadServer: UploadServer = {
  async create(file) {
    const reply = await send({
      method: "POST",
      path: apiPath("uploads"),
      body: JSON.stringify(file),
      headers: JSON_BODY,
    });
    return { answer: answerOf(reply), id: reply.body.id ?? "", chunkSize: reply.body.chunk_size ?? 8 * 1024 * 1024 };
  },
  async offset(id) {
    return answerOf(await send({ method: "GET", path: apiPath("uploads", id) }));
  },
  async append(id, offset, chunk, signal, onProgress) {
    const headers = {
      "Content-Type": "application/offset+octet-stream",
      "Upload-Offset": String(offset),
      ...(await checksum(chunk)),
    };
    return answerOf(
      await send({ method: "PATCH", path: apiPath("uploads", id), body: chunk, headers, signal, onProgress }),
    );
  },
  async complete(id, sha256) {
    const path = apiPath("uploads", id, "complete");
    return answerOf(await send({ method: "POST", path, body: JSON.stringify({ sha256 }), headers: JSON_BODY }));
  },
};

export const browserClock: SendClock = {
  now: () => performance.now(),
  random: () => Math.random(),
  pause: (ms, signal) =>
    new Promise((resolve, reject) => {
      const end = (settle: () => void) => () => {
        clearTimeout(timer);
        window.removeEventListener("online", wake);
        signal.removeEventListener("abort", stop);
        settle();
      };
      const wake = end(resolve);
      const stop = end(() => reject(new DOMException("Canceled", "AbortError")));
      const timer = setTimeout(wake, ms);
      window.addEventListener("online", wake);
      signal.addEventListener("abort", stop);
      if (signal.aborted) stop();
    }),
};

/** The upload routes over XMLHttpRequest: the only way that tells how much of a chunk has left the browser. */
import { getCsrfToken } from "@/api/client";
import { apiPath } from "@/api/paths";
import { chosenProject } from "@/components/chosen-project";
import type { ChunkAnswer, SendClock, UploadServer } from "./send-chunks";

/** The upload, or the problem that it was answered with; a proxy's own page has none of it. */
interface Body {
  id?: unknown;
  offset?: unknown;
  chunk_size?: unknown;
  code?: unknown;
  title?: unknown;
  detail?: unknown;
  hints?: unknown;
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
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? body : {};
  } catch {
    // A proxy's own error page: the status says enough.
    return { detail: text.slice(0, 300) };
  }
}

const textOf = (value: unknown) => (typeof value === "string" ? value : null);
const numberOf = (value: unknown) => (typeof value === "number" ? value : null);

function answerOf({ status, body }: { status: number; body: Body }): ChunkAnswer {
  return {
    status,
    offset: numberOf(body.offset),
    code: textOf(body.code),
    title: textOf(body.title),
    detail: textOf(body.detail),
    hints: Array.isArray(body.hints) ? body.hints.map(String) : [],
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
      body: JSON.stringify({ ...file, project: chosenProject() }),
      headers: JSON_BODY,
    });
    return { answer: answerOf(reply), id: textOf(reply.body.id) ?? "", chunkSize: numberOf(reply.body.chunk_size) ?? 8 * 1024 * 1024 };
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
    return answerOf(await send({ method: "PATCH", path: apiPath("uploads", id), body: chunk, headers, signal, onProgress }));
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

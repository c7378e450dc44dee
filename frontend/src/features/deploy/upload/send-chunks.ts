/** Drives one upload: chunks by offset, each retried with back-off; after a lost connection the server's offset decides. */
import { t } from "@lingui/core/macro";
import type { UploadEvent, UploadFailure } from "./upload-machine";

export interface ChunkAnswer {
  status: number;
  offset: number | null;
  code: string | null;
  title: string | null;
  detail: string | null;
  hints: string[];
}

/** The server as this module needs it; a call that gets no answer rejects. */
export interface UploadServer {
  create(file: { filename: string; size: number }): Promise<{ answer: ChunkAnswer; id: string; chunkSize: number }>;
  offset(id: string): Promise<ChunkAnswer>;
  append(id: string, offset: number, chunk: Blob, signal: AbortSignal, onProgress: (sent: number) => void): Promise<ChunkAnswer>;
  complete(id: string, sha256: string): Promise<ChunkAnswer>;
}

export interface SendClock {
  now(): number;
  /** Resolves after the delay, or sooner when the browser says that it is online again. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
}

export interface SendOptions {
  file: Blob & { name: string };
  /** An upload that was begun earlier and lacks bytes. */
  resume?: { id: string; offset: number; chunkSize: number };
  sha256: Promise<string>;
  server: UploadServer;
  clock: SendClock;
  signal: AbortSignal;
  emit: (event: UploadEvent) => void;
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
const CHECKSUM_TRIES = 5;

class Fatal extends Error {
  constructor(readonly failure: UploadFailure) {
    super(failure.title);
  }
}

function fatal(title: string, answer: ChunkAnswer): Fatal {
  return new Fatal({ title: answer.title ?? title, detail: answer.detail, hints: answer.hints });
}

const isGood = (answer: ChunkAnswer): boolean => answer.status >= 200 && answer.status < 300;
const mayPass = (answer: ChunkAnswer): boolean => answer.status >= 500 || answer.status === 408 || answer.status === 429;

/** 0.5 s doubled per failure up to 15 s, with a quarter of jitter either way. */
export function retryDelay(failures: number, random: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)) * (0.75 + random / 2);
}

async function persist(options: SendOptions, call: () => Promise<ChunkAnswer>): Promise<ChunkAnswer> {
  for (let failures = 0; ;) {
    options.signal.throwIfAborted();
    let answer: ChunkAnswer | null = null;
    try {
      answer = await call();
    } catch (error) {
      if (options.signal.aborted || error instanceof Fatal) throw error;
    }
    if (answer !== null && !mayPass(answer)) return answer;
    failures += 1;
    const delay = retryDelay(failures, options.clock.random());
    options.emit({ type: "chunk-failed", retryAt: options.clock.now() + delay });
    await options.clock.pause(delay, options.signal);
    options.emit({ type: "retrying" });
  }
}

async function begin(options: SendOptions): Promise<{ id: string; offset: number; chunkSize: number }> {
  if (options.resume) {
    options.emit({ type: "created", uploadId: options.resume.id, offset: options.resume.offset });
    return options.resume;
  }
  let id = "";
  let chunkSize = 0;
  const answer = await persist(options, async () => {
    const created = await options.server.create({ filename: options.file.name, size: options.file.size });
    id = created.id;
    chunkSize = created.chunkSize;
    return created.answer;
  });
  if (!isGood(answer)) throw fatal(t`The server did not accept the upload.`, answer);
  options.emit({ type: "created", uploadId: id, offset: answer.offset ?? 0 });
  return { id, offset: answer.offset ?? 0, chunkSize };
}

async function sendAll(options: SendOptions, start: { id: string; offset: number; chunkSize: number }): Promise<void> {
  const { file, server, clock, signal, emit } = options;
  let offset = start.offset;
  let damaged = 0;
  let uncertain = false;
  while (offset < file.size) {
    const from = offset;
    const answer = await persist(options, async () => {
      if (uncertain) {
        // Part of the chunk may have arrived before the line broke: ask, do not guess.
        const known = await server.offset(start.id);
        if (known.offset !== null && known.offset !== from) return { ...known, status: 409 };
        if (!isGood(known)) return known;
      }
      uncertain = true;
      const chunk = file.slice(from, Math.min(from + start.chunkSize, file.size));
      return server.append(start.id, from, chunk, signal, (sent) => emit({ type: "progress", inFlight: sent, at: clock.now() }));
    });
    uncertain = false;
    if (isGood(answer)) {
      offset = answer.offset ?? from + Math.min(start.chunkSize, file.size - from);
      damaged = 0;
      emit({ type: "chunk-stored", offset, at: clock.now() });
    } else if (answer.status === 409 && answer.offset !== null) {
      offset = answer.offset;
      emit({ type: "resumed", offset, at: clock.now() });
    } else if (answer.code === "ChecksumMismatch" && damaged < CHECKSUM_TRIES) {
      damaged += 1;
      emit({ type: "resumed", offset: from, at: clock.now() });
    } else {
      throw fatal(answer.status === 404 ? t`This upload has expired. Start again.` : t`The upload was refused.`, answer);
    }
  }
}

/** Ends with a `done`, `failed` or `canceled` event; never rejects. */
export async function sendFile(options: SendOptions): Promise<void> {
  try {
    const start = await begin(options);
    await sendAll(options, start);
    options.emit({ type: "finishing" });
    const sha256 = await options.sha256;
    const answer = await persist(options, () => options.server.complete(start.id, sha256));
    if (!isGood(answer)) throw fatal(t`The upload could not be completed.`, answer);
    options.emit({ type: "done" });
  } catch (error) {
    if (options.signal.aborted) {
      options.emit({ type: "canceled" });
      return;
    }
    const failure =
      error instanceof Fatal
        ? error.failure
        : {
            title: t`The file could not be read.`,
            detail: String(error),
            hints: [t`Choose the file again; it may have been moved or changed.`],
          };
    options.emit({ type: "failed", failure });
  }
}

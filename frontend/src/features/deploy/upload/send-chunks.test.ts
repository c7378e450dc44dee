import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { retryDelay, sendFile, type ChunkAnswer, type SendClock, type UploadServer } from "./send-chunks";
import { sha256Of } from "./sha256-stream";
import { IDLE_UPLOAD, uploadReducer, type UploadView } from "./upload-machine";

const CONTENT = new Uint8Array(2500).map((_, index) => index % 251);

function answer(status: number, fields: Partial<ChunkAnswer> = {}): ChunkAnswer {
  return { status, offset: null, code: null, title: null, detail: null, hints: [], ...fields };
}

/** A server in memory whose next appends can be made to misbehave. */
class FakeServer implements UploadServer {
  stored = new Uint8Array(0);
  completedWith: string | null = null;
  calls: string[] = [];
  troubles: ((chunk: Uint8Array) => ChunkAnswer | Error | null)[] = [];

  create() {
    this.calls.push("create");
    return Promise.resolve({ answer: answer(201, { offset: 0 }), id: "u1", chunkSize: 1000 });
  }
  offset() {
    this.calls.push("offset");
    return Promise.resolve(answer(200, { offset: this.stored.length }));
  }
  async append(_id: string, offset: number, chunk: Blob, _signal: AbortSignal, onProgress: (sent: number) => void) {
    this.calls.push(`append ${offset}`);
    const bytes = new Uint8Array(await chunk.arrayBuffer());
    onProgress(bytes.length / 2);
    const trouble = this.troubles.shift()?.(bytes) ?? null;
    if (trouble instanceof Error) throw trouble;
    if (trouble !== null) return trouble;
    if (offset !== this.stored.length) return answer(409, { code: "UploadOffsetConflict", offset: this.stored.length });
    this.store(bytes);
    return answer(200, { offset: this.stored.length });
  }
  complete(_id: string, sha256: string) {
    this.completedWith = sha256;
    return Promise.resolve(answer(202));
  }
  store(bytes: Uint8Array) {
    this.stored = new Uint8Array([...this.stored, ...bytes]);
  }
}

async function run(
  server: FakeServer,
  options: { abortAfter?: string; resumeAt?: number } = {},
): Promise<{ view: UploadView; pauses: number[] }> {
  const controller = new AbortController();
  const pauses: number[] = [];
  const clock: SendClock = {
    now: () => 0,
    random: () => 0.5,
    pause: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  const file = Object.assign(new Blob([CONTENT]), { name: "m.onnx" });
  let view = uploadReducer(IDLE_UPLOAD, { type: "chosen", filename: file.name, size: file.size });
  await sendFile({
    file,
    ...(options.resumeAt === undefined ? {} : { resume: { id: "u1", offset: options.resumeAt, chunkSize: 1000 } }),
    sha256: sha256Of(file, () => undefined),
    server,
    clock,
    signal: controller.signal,
    emit: (event) => {
      view = uploadReducer(view, event);
      if (event.type === options.abortAfter) controller.abort();
    },
  });
  return { view, pauses };
}

describe("sendFile", () => {
  it("sends chunks in order and completes with the digest", async () => {
    const server = new FakeServer();
    const { view, pauses } = await run(server);
    expect(server.calls).toEqual(["create", "append 0", "append 1000", "append 2000"]);
    expect(server.stored).toEqual(CONTENT);
    expect(server.completedWith).toBe(createHash("sha256").update(CONTENT).digest("hex"));
    expect(view.phase).toBe("done");
    expect(pauses).toEqual([]);
  });

  it("asks for the offset after a lost connection and goes on from there", async () => {
    const server = new FakeServer();
    server.troubles = [
      () => null,
      (bytes) => {
        server.store(bytes.slice(0, 300));
        return new TypeError("network");
      },
    ];
    const { view, pauses } = await run(server);
    expect(server.calls).toEqual(["create", "append 0", "append 1000", "offset", "append 1300", "append 2300"]);
    expect(server.stored).toEqual(CONTENT);
    expect(pauses).toEqual([500]);
    expect(view.phase).toBe("done");
  });

  it("waits longer with every failure and starts anew after a success", async () => {
    const server = new FakeServer();
    const down = () => answer(503);
    server.troubles = [down, down, down, () => null, down];
    const { pauses, view } = await run(server);
    expect(pauses).toEqual([500, 1000, 2000, 500]);
    expect(view.phase).toBe("done");
    expect(retryDelay(20, 1)).toBe(18_750);
    expect(retryDelay(1, 0)).toBe(375);
  });

  it("repeats a damaged chunk, but not for ever", async () => {
    const damaged = () => answer(400, { code: "ChecksumMismatch", title: "The chunk was damaged on the way." });
    const once = new FakeServer();
    once.troubles = [damaged];
    expect((await run(once)).view.phase).toBe("done");
    const always = new FakeServer();
    always.troubles = Array.from({ length: 20 }, () => damaged);
    const { view } = await run(always);
    expect(view).toMatchObject({ phase: "failed", failure: { title: "The chunk was damaged on the way." } });
    expect(always.calls.filter((call) => call === "append 0")).toHaveLength(6);
  });

  it("stops with the server’s words on a refusal", async () => {
    const server = new FakeServer();
    server.troubles = [() => answer(413, { title: "Too large.", detail: "Limit 1 GiB.", hints: ["Quantise it."] })];
    const { view } = await run(server);
    expect(view.failure).toEqual({ title: "Too large.", detail: "Limit 1 GiB.", hints: ["Quantise it."] });
    expect(server.completedWith).toBeNull();
  });

  it("cancels between chunks", async () => {
    const server = new FakeServer();
    const { view } = await run(server, { abortAfter: "chunk-stored" });
    expect(view.phase).toBe("canceled");
    expect(server.calls).toEqual(["create", "append 0"]);
  });

  it("continues an upload of an earlier visit", async () => {
    const server = new FakeServer();
    server.store(CONTENT.slice(0, 1200));
    const { view } = await run(server, { resumeAt: 1200 });
    expect(server.calls).toEqual(["append 1200", "append 2200"]);
    expect(server.stored).toEqual(CONTENT);
    expect(view.phase).toBe("done");
  });
});

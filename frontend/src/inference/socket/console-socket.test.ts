import { describe, expect, it } from "vitest";
import { ConsoleSocket, type BinarySocket } from "./console-socket";
import { parseExactly } from "./exact-json";

class FakeSocket implements BinarySocket {
  onopen: ((event: Event) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  sent: Record<string, unknown>[] = [];
  frames: Uint8Array[] = [];
  send(data: string | Uint8Array) {
    if (typeof data === "string") this.sent.push(JSON.parse(data) as Record<string, unknown>);
    else this.frames.push(data);
  }
  close() {
    this.onclose?.({ code: 1000 } as CloseEvent);
  }
  up() {
    this.onopen?.({} as Event);
  }
  say(message: unknown) {
    this.onmessage?.({ data: typeof message === "string" ? message : JSON.stringify(message) } as MessageEvent);
  }
  drop(code = 1006) {
    this.onclose?.({ code } as CloseEvent);
  }
}

function setup() {
  const sockets: FakeSocket[] = [];
  const timers: { run: () => void; ms: number }[] = [];
  let clock = 0;
  let ids = 0;
  const socket = new ConsoleSocket({
    connect: () => {
      const fake = new FakeSocket();
      sockets.push(fake);
      return fake;
    },
    setTimer: (run, ms) => timers.push({ run, ms }),
    clearTimer: () => undefined,
    now: () => (clock += 5),
    newId: () => `c${(ids += 1)}`,
    random: () => 0.5,
  });
  const last = () => {
    const fake = sockets.at(-1);
    if (!fake) throw new Error("no socket was opened");
    return fake;
  };
  return { socket, timers, last, sockets };
}

const CALL = {
  model: "a/b:0",
  inputs: [{ name: "scale_0.tmp_1", datatype: "FP32", shape: [1], data: [1] }],
  protocol: "http" as const,
};

describe("ConsoleSocket", () => {
  it("pairs answers with calls by id", async () => {
    const { socket, last } = setup();
    last().up();
    const first = socket.infer(CALL);
    const second = socket.infer(CALL);
    expect(last().sent.map(({ op, id, model }) => [op, id, model])).toEqual([
      ["infer", "c1", "a/b:0"],
      ["infer", "c2", "a/b:0"],
    ]);
    last().say({ type: "accepted", id: "c2" });
    last().say({ type: "error", id: "c2", code: "WrongShape", message: "no", triton: "[no]", status: 400 });
    last().say({ type: "result", id: "c1", outputs: [], timing: {}, model_version: "1" });
    expect(await second.outcome).toEqual({ kind: "error", code: "WrongShape", message: "no", triton: "[no]", status: 400 });
    expect(await first.outcome).toMatchObject({ kind: "result", modelVersion: "1", roundTripUs: 10_000 });
  });

  it("says that the result is unknown when the line breaks, and connects again", async () => {
    const { socket, timers, last, sockets } = setup();
    last().up();
    const call = socket.infer(CALL);
    last().drop();
    expect(await call.outcome).toEqual({ kind: "lost", sent: true });
    expect(socket.link).toBe("lost");
    expect(await socket.infer(CALL).outcome).toEqual({ kind: "lost", sent: false });
    timers[0]?.run();
    expect(sockets).toHaveLength(2);
    last().up();
    expect(socket.link).toBe("open");
  });

  it("does not call again where it was refused", () => {
    for (const [code, state] of [
      [4401, "signed-out"],
      [4404, "unknown-endpoint"],
    ] as const) {
      const { socket, timers, last } = setup();
      last().up();
      last().drop(code);
      expect(socket.link).toBe(state);
      expect(timers).toHaveLength(0);
    }
  });

  it("answers metadata, also with an error", async () => {
    const { socket, last } = setup();
    last().up();
    const good = socket.metadata("blue");
    last().say({ type: "metadata", models: [{ name: "m" }] });
    expect(last().sent[0]).toEqual({ op: "metadata", deployment: "blue" });
    expect(await good).toEqual({ kind: "metadata", models: [{ name: "m" }], mayInfer: true });
    const bad = socket.metadata(null);
    last().say({ type: "error", code: "NotReady", message: "blue is loading" });
    expect(await bad).toEqual({ kind: "error", code: "NotReady", message: "blue is loading" });
  });

  it("passes responses on as they come, and stops on request", async () => {
    const { socket, last } = setup();
    last().up();
    const parts: number[] = [];
    const call = socket.infer(CALL, (part) => parts.push(part.atUs));
    last().say({ type: "response", id: "c1", index: 0, at_us: 10, outputs: [] });
    last().say({ type: "response", id: "c1", index: 1, at_us: 30, outputs: [] });
    call.cancel();
    expect(last().sent.at(-1)).toEqual({ op: "cancel", id: "c1" });
    last().say({ type: "cancelled", id: "c1" });
    expect(await call.outcome).toEqual({ kind: "cancelled" });
    expect(parts).toEqual([10, 30]);
    call.cancel();
    expect(last().sent).toHaveLength(2);
    const whole = socket.infer(CALL);
    last().say({ type: "result", id: "c2", outputs: [], responses: 2, timing: {}, model_version: "1" });
    expect(await whole.outcome).toMatchObject({ kind: "result", responses: 2 });
  });

  it("sends large tensors as frames behind the text, and refuses what is over the limit", async () => {
    const { socket, last } = setup();
    last().up();
    const metadata = socket.metadata(null);
    last().say({ type: "metadata", models: [], may_infer: false, limits: { request_chars: 1e6, binary_bytes: 3 << 20 } });
    expect(await metadata).toMatchObject({ mayInfer: false });
    const input = (size: number) => ({
      ...CALL.inputs[0],
      name: "x",
      datatype: "UINT8",
      shape: [size],
      data: { raw: new Uint8Array(size) },
    });
    socket.infer({ ...CALL, inputs: [input(10), input((2 << 20) + 5)] });
    expect((last().sent.at(-1)!["inputs"] as { data: unknown }[]).map(({ data }) => data)).toEqual([
      { b64: "AAAAAAAAAAAAAA==" },
      { frames: 3 },
    ]);
    expect(last().frames.map((frame) => frame.length)).toEqual([1 << 20, 1 << 20, 5]);
    const refused = await socket.infer({ ...CALL, inputs: [input(4 << 20)] }).outcome;
    expect(refused).toMatchObject({ kind: "error", code: "TooLarge" });
    expect(refused.kind === "error" && refused.message).toMatch(/4.*MiB.*3.*MiB/);
  });

  it("stays closed", () => {
    const { socket, timers, last } = setup();
    last().up();
    socket.close();
    expect(timers).toHaveLength(0);
  });
});

describe("parseExactly", () => {
  it("keeps long whole numbers as text and leaves others alone", () => {
    expect(parseExactly('{"a":[9007199254740993,-9223372036854775808,12,0.12345678901234567]}')).toEqual({
      a: ["9007199254740993", "-9223372036854775808", 12, 0.12345678901234567],
    });
  });

  it("reads NaN and Infinity, but not inside texts, and still refuses nonsense", () => {
    expect(parseExactly('{"v":[NaN, NaN,-Infinity ,1],"t":"a,NaN,b"}')).toEqual({
      v: ["NaN", "NaN", "-Infinity", 1],
      t: "a,NaN,b",
    });
    expect(() => parseExactly('{"v":[NaN')).toThrow(SyntaxError);
    expect(() => parseExactly(`[NaN, "${"a".repeat(60)}`), "which took years").toThrow(SyntaxError);
    expect(() => parseExactly(`[NaN, "${'\\"'.repeat(50_000)}`)).toThrow(SyntaxError);
  });
});

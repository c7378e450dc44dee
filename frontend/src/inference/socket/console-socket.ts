/** The console's own socket: calls by id, responses as they come, and the truth about calls whose answer was lost. */
import { t } from "@lingui/core/macro";
import type { SocketLike } from "@/live/socket";
import { backoffMs } from "@/live/backoff";
import type { ConsoleModel } from "@/api/types";
import { parseExactly } from "./exact-json";
import type { InferCall, Limits, Outcome, StreamPart, Timing, WireOutput } from "./messages";
import { packCall } from "./pack-call";

export type MetadataAnswer =
  { kind: "metadata"; models: ConsoleModel[]; mayInfer: boolean } | { kind: "error"; code: string; message: string } | { kind: "lost" };

export type LinkState = "connecting" | "open" | "lost" | "signed-out" | "unknown-endpoint";

interface Pending {
  sentAt: number;
  onPart: (part: StreamPart) => void;
  settle: (outcome: Outcome) => void;
}

/** A call on its way. */
export interface Sent {
  outcome: Promise<Outcome>;
  cancel: () => void;
}

/** The part of `WebSocket` that is used here: it also takes bytes. */
export interface BinarySocket extends Omit<SocketLike, "send"> {
  send(data: string | Uint8Array<ArrayBuffer>): void;
}

export interface ConsoleSocketDeps {
  connect: () => BinarySocket;
  setTimer: (run: () => void, ms: number) => unknown;
  clearTimer: (timer: unknown) => void;
  now: () => number;
  newId: () => string;
  random: () => number;
}

const UNAUTHENTICATED = 4401;
const UNKNOWN = 4404;

type Message = Record<string, unknown> & { type?: string; id?: string };

const text = (value: unknown, fallback: string) => (typeof value === "string" ? value : fallback);

export class ConsoleSocket {
  private socket: BinarySocket | null = null;
  private state: LinkState = "connecting";
  private attempts = 0;
  private timer: unknown = null;
  private closed = false;
  private limits: Limits | null = null;
  private readonly calls = new Map<string, Pending>();
  private readonly metadataWaiters: ((answer: MetadataAnswer) => void)[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(private readonly deps: ConsoleSocketDeps) {
    this.open();
  }

  get link(): LinkState {
    return this.state;
  }

  onLink(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  metadata(deployment: string | null): Promise<MetadataAnswer> {
    return new Promise((resolve) => {
      if (this.state !== "open" || !this.socket) return resolve({ kind: "lost" });
      this.metadataWaiters.push(resolve);
      this.socket.send(JSON.stringify({ op: "metadata", ...(deployment ? { deployment } : {}) }));
    });
  }

  infer(call: InferCall, onPart: (part: StreamPart) => void = () => undefined): Sent {
    const { socket } = this;
    const nothing = () => undefined;
    if (this.state !== "open" || !socket) {
      return { outcome: Promise.resolve({ kind: "lost", sent: false }), cancel: nothing };
    }
    const id = this.deps.newId();
    const packed = packCall(id, call, this.limits);
    if ("refused" in packed) {
      return {
        outcome: Promise.resolve({ kind: "error", code: "TooLarge", message: packed.refused, triton: null, status: null }),
        cancel: nothing,
      };
    }
    const outcome = new Promise<Outcome>((resolve) => {
      this.calls.set(id, { sentAt: this.deps.now(), onPart, settle: resolve });
    });
    socket.send(packed.text);
    for (const frame of packed.frames) socket.send(frame);
    return { outcome, cancel: () => this.cancel(id) };
  }

  private cancel(id: string): void {
    if (this.calls.has(id) && this.socket && this.state === "open") this.socket.send(JSON.stringify({ op: "cancel", id }));
  }

  close(): void {
    this.closed = true;
    if (this.timer !== null) this.deps.clearTimer(this.timer);
    this.socket?.close();
    this.drop();
  }

  private open(): void {
    const socket = this.deps.connect();
    this.socket = socket;
    socket.onopen = () => {
      this.attempts = 0;
      this.become("open");
    };
    socket.onmessage = (event) => this.receive(parseExactly(String(event.data)) as Message);
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.drop();
      if (this.closed) return;
      if (event.code === UNAUTHENTICATED) return this.become("signed-out");
      if (event.code === UNKNOWN) return this.become("unknown-endpoint");
      this.become("lost");
      this.timer = this.deps.setTimer(() => this.open(), backoffMs(this.attempts, this.deps.random));
      this.attempts += 1;
    };
  }

  private receive(message: Message): void {
    const id = text(message.id, "");
    const call = this.calls.get(id);
    if (message.type === "metadata") {
      this.limits = (message["limits"] as Limits | undefined) ?? null;
      this.metadataWaiters.shift()?.({
        kind: "metadata",
        models: message["models"] as ConsoleModel[],
        mayInfer: message["may_infer"] !== false,
      });
    } else if (message.type === "response" && call) {
      call.onPart({
        index: Number(message["index"]),
        atUs: Number(message["at_us"]),
        outputs: message["outputs"] as WireOutput[],
      });
    } else if (message.type === "cancelled" && call) {
      this.calls.delete(id);
      call.settle({ kind: "cancelled" });
    } else if (message.type === "result" && call) {
      this.calls.delete(id);
      call.settle({
        kind: "result",
        outputs: message["outputs"] as WireOutput[],
        responses: typeof message["responses"] === "number" ? message["responses"] : null,
        timing: message["timing"] as Timing,
        modelVersion: String(message["model_version"] ?? ""),
        deployment: text(message["deployment"], ""),
        roundTripUs: (this.deps.now() - call.sentAt) * 1000,
      });
    } else if (message.type === "error") {
      const code = text(message["code"], "Error");
      const words = text(message["message"], t`The call failed.`);
      if (call) {
        this.calls.delete(id);
        const status = typeof message["status"] === "number" ? message["status"] : null;
        call.settle({ kind: "error", code, message: words, triton: text(message["triton"], "") || null, status });
      } else {
        this.metadataWaiters.shift()?.({ kind: "error", code, message: words });
      }
    }
  }

  /** Nothing that was on its way will be answered any more. */
  private drop(): void {
    for (const call of this.calls.values()) call.settle({ kind: "lost", sent: true });
    this.calls.clear();
    for (const waiter of this.metadataWaiters.splice(0)) waiter({ kind: "lost" });
  }

  private become(state: LinkState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

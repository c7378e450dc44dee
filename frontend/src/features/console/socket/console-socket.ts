/** The console's own socket: one call in flight at a time, and the truth about calls whose answer was lost. */
import type { SocketLike } from "@/live/socket";
import { backoffMs } from "@/live/backoff";
import type { ConsoleModel } from "@/api/types";
import { parseExactly } from "./exact-json";

export interface WireInput {
  name: string;
  datatype: string;
  shape: number[];
  data: readonly (number | string | boolean)[] | { b64: string };
}

export interface InferCall {
  model: string;
  deployment?: string;
  inputs: WireInput[];
  protocol: "http" | "grpc";
}

export interface OutputStats {
  min: number | null;
  max: number | null;
  mean: number | null;
}

export interface WireOutput {
  name: string;
  datatype: string;
  shape: number[];
  data: (number | string | boolean | null)[];
  truncated: boolean;
  stats: OutputStats | null;
}

/** Microseconds; null where it was not measured. */
export interface Timing {
  total_us: number | null;
  gateway_us: number | null;
  queue_us: number | null;
  compute_input_us: number | null;
  compute_infer_us: number | null;
  compute_output_us: number | null;
}

export type Outcome =
  | {
      kind: "result";
      outputs: WireOutput[];
      timing: Timing;
      modelVersion: string;
      deployment: string;
      roundTripUs: number;
    }
  | { kind: "error"; code: string; message: string; triton: string | null; status: number | null }
  /** The line broke after the server had taken the call: whether it ran is not known. */
  | { kind: "lost"; sent: boolean };

export type MetadataAnswer =
  | { kind: "metadata"; models: ConsoleModel[] }
  | { kind: "error"; code: string; message: string }
  | { kind: "lost" };

export type LinkState = "connecting" | "open" | "lost" | "signed-out" | "unknown-endpoint";

interface Pending {
  accepted: boolean;
  sentAt: number;
  settle: (outcome: Outcome) => void;
}

export interface ConsoleSocketDeps {
  connect: () => SocketLike;
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
  private socket: SocketLike | null = null;
  private state: LinkState = "connecting";
  private attempts = 0;
  private timer: unknown = null;
  private closed = false;
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

  infer(call: InferCall): Promise<Outcome> {
    return new Promise((resolve) => {
      if (this.state !== "open" || !this.socket) return resolve({ kind: "lost", sent: false });
      const id = this.deps.newId();
      this.calls.set(id, { accepted: false, sentAt: this.deps.now(), settle: resolve });
      this.socket.send(JSON.stringify({ op: "infer", id, ...call }));
    });
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
      this.metadataWaiters.shift()?.({ kind: "metadata", models: message["models"] as ConsoleModel[] });
    } else if (message.type === "accepted") {
      if (call) call.accepted = true;
    } else if (message.type === "result" && call) {
      this.calls.delete(id);
      call.settle({
        kind: "result",
        outputs: message["outputs"] as WireOutput[],
        timing: message["timing"] as Timing,
        modelVersion: String(message["model_version"] ?? ""),
        deployment: text(message["deployment"], ""),
        roundTripUs: (this.deps.now() - call.sentAt) * 1000,
      });
    } else if (message.type === "error") {
      const code = text(message["code"], "Error");
      const words = text(message["message"], "The call failed.");
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

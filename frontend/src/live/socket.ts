/**
 * The tab's one live socket: subscriptions by topic, reconnecting with back-off, and a state for the pill.
 * Time, randomness and the socket itself are passed in, so that the state machine is tested without waiting.
 */
import { backoffMs } from "./backoff";
import { parseFrame, positionOf, type Frame } from "./frames";

export type LiveState = "idle" | "connecting" | "live" | "polling" | "reconnecting" | "offline" | "signed-out";

/** The part of `WebSocket` that is used. */
export interface SocketLike {
  onopen: ((event: Event) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: Event) => void) | null;
  send(data: string): void;
  close(code?: number): void;
}

export interface SocketDeps {
  connect: () => SocketLike;
  setTimer: (run: () => void, ms: number) => unknown;
  clearTimer: (timer: unknown) => void;
  random: () => number;
  /** After so many failed attempts in a row the pill says "Offline" (attempts go on). */
  offlineAfter?: number;
}

export type SubscribeOptions = { range?: number; after_seq?: number; changes?: boolean };
export type FrameListener = (frame: Frame) => void;

interface Topic {
  listeners: Set<FrameListener>;
  options: SubscribeOptions;
  /** Up to where events were heard: a lost connection goes on from there. */
  seq: number | null;
}

/** No frame for this long, although something is subscribed, counts as stale. */
export const STALE_MS = 5_000;

const UNAUTHENTICATED = 4401;

export class LiveSocket {
  private readonly deps: SocketDeps;
  private readonly topics = new Map<string, Topic>();
  private readonly stateListeners = new Set<() => void>();
  private socket: SocketLike | null = null;
  private open = false;
  private attempts = 0;
  private retryTimer: unknown = null;
  private staleTimer: unknown = null;
  private current: LiveState = "idle";
  private hidden = false;
  private polled = false;

  constructor(deps: SocketDeps) {
    this.deps = deps;
  }

  get state(): LiveState {
    return this.polled && this.isDown ? "polling" : this.current;
  }

  /** The link is lost (which says nothing of a fall-back). */
  get isDown(): boolean {
    return this.current === "reconnecting" || this.current === "offline";
  }

  /** Whether values are asked for over HTTP meanwhile, and come. */
  setPolled(polled: boolean): void {
    if (polled === this.polled) return;
    this.polled = polled;
    this.tell();
  }

  onState(listener: () => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  /** Starts (or joins) a topic; the first subscriber opens the connection. Answers the function that leaves it. */
  subscribe(name: string, options: SubscribeOptions, listener: FrameListener): () => void {
    let topic = this.topics.get(name);
    const fresh = topic === undefined;
    if (!topic) {
      topic = { listeners: new Set(), options, seq: null };
      this.topics.set(name, topic);
    }
    const changed = !fresh && JSON.stringify(topic.options) !== JSON.stringify(options);
    topic.options = options;
    topic.listeners.add(listener);
    if (this.open) {
      // why also for a joiner: only a subscription makes the server send the snapshot, which the joiner needs.
      if (fresh || changed || topic.listeners.size > 1) this.sendSubscription(name, topic);
    } else this.ensure();
    return () => this.leave(name, listener);
  }

  /** Asks for a topic's first frames again: one of those that came since is missing. */
  renew(name: string): void {
    const topic = this.topics.get(name);
    if (topic && this.open) this.sendSubscription(name, topic);
  }

  /** A hidden tab asks for fewer frames. */
  setHidden(hidden: boolean): void {
    if (hidden === this.hidden) return;
    this.hidden = hidden;
    if (this.open) {
      this.send({ op: "rate", hz: hidden ? 0.5 : 2 });
      // why anew: a tab in the background gets few frames, or none where the browser froze it.
      if (!hidden) for (const [name, topic] of this.topics) this.sendSubscription(name, topic);
    } else if (!hidden) this.retryNow();
  }

  /** The browser says that the network came back: do not sit out the waiting time. */
  retryNow(): void {
    if (this.socket || this.topics.size === 0) return;
    this.cancelRetry();
    this.attempts = 0;
    this.ensure();
  }

  close(): void {
    this.cancelRetry();
    this.cancelStale();
    this.open = false;
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onclose = null;
      socket.close(1000);
    }
    this.setState("idle");
  }

  private ensure(): void {
    if (this.socket || this.retryTimer !== null) return;
    if (this.current !== "reconnecting" && this.current !== "offline") this.setState("connecting");
    const socket = this.deps.connect();
    this.socket = socket;
    socket.onopen = () => this.opened();
    socket.onmessage = (event) => this.received(event);
    socket.onclose = (event) => this.closed(event.code);
    // why nothing else on error: a close always follows, and it carries the code.
    socket.onerror = () => undefined;
  }

  private opened(): void {
    this.open = true;
    this.attempts = 0;
    this.setState("live");
    if (this.hidden) this.send({ op: "rate", hz: 0.5 });
    for (const [name, topic] of this.topics) this.sendSubscription(name, topic);
    this.watchStale();
  }

  private received(event: MessageEvent): void {
    const frame = typeof event.data === "string" ? parseFrame(event.data) : null;
    if (!frame) return;
    if (this.current !== "live") this.setState("live");
    this.watchStale();
    const topic = this.topics.get(frame.topic);
    if (!topic) return;
    const seq = positionOf(frame);
    // why also backwards: a position that is not complete may belong to another database.
    if (seq !== null) topic.seq = frame.type === "event" ? Math.max(topic.seq ?? 0, seq) : seq;
    for (const listener of [...topic.listeners]) listener(frame);
  }

  private closed(code: number): void {
    this.open = false;
    this.socket = null;
    this.cancelStale();
    if (code === UNAUTHENTICATED) {
      this.setState("signed-out");
      return;
    }
    if (this.topics.size === 0) {
      this.setState("idle");
      return;
    }
    const wait = backoffMs(this.attempts, this.deps.random);
    this.attempts += 1;
    this.setState(this.attempts > (this.deps.offlineAfter ?? 4) ? "offline" : "reconnecting");
    this.retryTimer = this.deps.setTimer(() => {
      this.retryTimer = null;
      this.ensure();
    }, wait);
  }

  private leave(name: string, listener: FrameListener): void {
    const topic = this.topics.get(name);
    if (!topic) return;
    topic.listeners.delete(listener);
    if (topic.listeners.size > 0) return;
    this.topics.delete(name);
    if (this.open) this.send({ op: "unsub", topic: name });
  }

  private sendSubscription(name: string, topic: Topic): void {
    this.send({ op: "sub", topic: name, ...topic.options, ...(topic.seq === null ? {} : { after_seq: topic.seq }) });
  }

  private send(message: unknown): void {
    this.socket?.send(JSON.stringify(message));
  }

  private watchStale(): void {
    this.cancelStale();
    // why only with a ticking topic: operations and events are silent when nothing happens.
    if (![...this.topics.keys()].some((name) => name.startsWith("endpoint:") || name === "overview")) return;
    const wait = this.hidden ? STALE_MS * 2 : STALE_MS;
    this.staleTimer = this.deps.setTimer(() => {
      this.staleTimer = null;
      if (this.open) this.setState("reconnecting");
    }, wait);
  }

  private cancelStale(): void {
    if (this.staleTimer !== null) this.deps.clearTimer(this.staleTimer);
    this.staleTimer = null;
  }

  private cancelRetry(): void {
    if (this.retryTimer !== null) this.deps.clearTimer(this.retryTimer);
    this.retryTimer = null;
  }

  private setState(state: LiveState): void {
    if (state === this.current) return;
    this.current = state;
    this.tell();
  }

  private tell(): void {
    for (const listener of [...this.stateListeners]) listener();
  }
}

/** Saves a value a moment after its last change, one request at a time, and says how it stands. */

export type SaveState =
  | { kind: "saved"; at: number | null }
  | { kind: "waiting" }
  | { kind: "saving" }
  | { kind: "failed"; error: unknown }
  /** Another browser saved meanwhile. */
  | { kind: "conflict" };

export interface AutosaveOptions<T> {
  /** Saves over the revision that was seen last; resolves with the new one. `null` overwrites whatever is there. */
  save: (value: T, revision: number | null) => Promise<number>;
  revision: number;
  isConflict: (error: unknown) => boolean;
  delayMs?: number;
  now?: () => number;
}

const DELAY_MS = 800;

export class Autosave<T> {
  state: SaveState = { kind: "saved", at: null };
  private readonly listeners = new Set<() => void>();
  private revision: number;
  private pending: { value: T } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy = false;
  private sent: { value: T } | null = null;
  private stopped = false;
  private sending: Promise<void> = Promise.resolve();

  constructor(private readonly options: AutosaveOptions<T>) {
    this.revision = options.revision;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  snapshot = (): SaveState => this.state;

  change(value: T): void {
    if (this.stopped) return;
    this.pending = { value };
    if (this.state.kind === "conflict") return;
    this.set({ kind: "waiting" });
    this.schedule();
  }

  /** Now instead of in a moment. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    if (this.pending === null || this.busy || this.state.kind === "conflict") return;
    await this.send(this.revision);
  }

  /**
   * The page goes: what is pending is sent although an earlier save may still be on its way. The two may arrive in
   * either order, so this one is not held to a revision: the older then loses, first or last.
   */
  leave(): void {
    const left = this.pending;
    if (!this.busy || left === null || left === this.sent || this.state.kind === "conflict") return void this.flush();
    clearTimeout(this.timer);
    this.options.save(left.value, null).then(
      (revision) => this.arrived(left, revision),
      (error: unknown) => this.set({ kind: "failed", error }),
    );
  }

  /** Saves again after a failure; after a conflict, over what the other browser saved. */
  async retry(): Promise<void> {
    clearTimeout(this.timer);
    if (this.pending !== null && !this.busy) await this.send(this.state.kind === "conflict" ? null : this.revision);
  }

  /** Nothing is sent any more: the draft goes. Resolves when what is on its way has arrived. */
  stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.pending = null;
    return this.sending;
  }

  private schedule(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), this.options.delayMs ?? DELAY_MS);
  }

  private send(revision: number | null): Promise<void> {
    this.sending = this.sendNow(revision);
    return this.sending;
  }

  private async sendNow(revision: number | null): Promise<void> {
    const sent = this.pending;
    if (sent === null) return;
    this.busy = true;
    this.sent = sent;
    this.set({ kind: "saving" });
    try {
      this.arrived(sent, await this.options.save(sent.value, revision));
    } catch (error) {
      this.set(this.options.isConflict(error) ? { kind: "conflict" } : { kind: "failed", error });
    } finally {
      this.busy = false;
    }
  }

  private arrived(sent: { value: T }, revision: number): void {
    this.revision = Math.max(this.revision, revision);
    this.settle(sent);
  }

  /** What was typed while it was being sent goes next. */
  private settle(sent: { value: T }): void {
    if (this.pending === sent || this.pending === null) {
      this.pending = null;
      this.set({ kind: "saved", at: (this.options.now ?? Date.now)() });
      return;
    }
    this.set({ kind: "waiting" });
    this.schedule();
  }

  private set(state: SaveState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

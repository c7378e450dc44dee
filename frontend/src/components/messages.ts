/**
 * What was said in the corner, kept for whoever looked away: failures and ended operations count until they are read.
 * Kept in this browser, for each user name apart, so that a reload loses nothing.
 */
import type { LinkProps } from "@tanstack/react-router";

const KEPT = 50;
/** Two windows tell of the same ended operation; the list says it once. */
const SAME_MS = 60_000;
const keyOf = (user: string): string => `shoal.messages.${user}`;

export interface Message {
  id: string;
  /** ISO time. */
  at: string;
  tone: "ok" | "error";
  title: string;
  detail?: string;
  link?: LinkProps;
  read: boolean;
}

export type NewMessage = Omit<Message, "id" | "at">;
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

function isMessage(value: unknown): value is Message {
  const one = value as Partial<Message> | null;
  return (
    typeof one?.id === "string" &&
    !Number.isNaN(Date.parse(one.at ?? "")) &&
    (one.tone === "ok" || one.tone === "error") &&
    typeof one.title === "string" &&
    typeof one.read === "boolean"
  );
}

/** What an older or a broken page has left counts as nothing: it must never break this one. */
export function parseMessages(text: string | null): Message[] {
  if (!text) return [];
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter(isMessage).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

const saysTheSame = (old: Message, message: NewMessage, at: string): boolean =>
  message.link !== undefined &&
  old.title === message.title &&
  Date.parse(at) - Date.parse(old.at) < SAME_MS &&
  JSON.stringify(old.link) === JSON.stringify(message.link);

/** The newest first. Every change makes a new list, so that it can be compared by identity. */
export class MessageList {
  private list: readonly Message[] = [];
  private user: string | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly store?: Store) {}

  all = (): readonly Message[] => this.list;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** From now on this person's list; what was said before anybody was known is theirs, too. */
  openFor(user: string): void {
    if (user === this.user) return;
    const early = this.user === null ? this.list : [];
    this.user = user;
    const kept = parseMessages(this.store?.getItem(keyOf(user)) ?? null);
    if (early.length > 0) this.set([...early, ...kept].slice(0, KEPT));
    else this.show(kept);
  }

  /** Another window of this browser has changed the list. */
  changedElsewhere(key: string | null, text: string | null): void {
    if (this.user !== null && key === keyOf(this.user)) this.show(parseMessages(text));
  }

  add(message: NewMessage, at: string = new Date().toISOString()): string {
    const same = this.list.find((old) => saysTheSame(old, message, at));
    if (same) return same.id;
    // why not randomUUID: browsers keep it from pages without TLS.
    const id = `${Date.parse(at)}-${Math.random().toString(36).slice(2)}`;
    this.set([{ ...message, id, at }, ...this.list].slice(0, KEPT));
    return id;
  }

  /** Without an id: all of them. */
  read(id?: string): void {
    if (!this.list.some((one) => !one.read && (id === undefined || one.id === id))) return;
    this.set(this.list.map((one) => (id === undefined || one.id === id ? { ...one, read: true } : one)));
  }

  clear(): void {
    if (this.list.length > 0) this.set([]);
  }

  private set(next: readonly Message[]): void {
    if (this.user !== null) {
      if (next.length === 0) this.store?.removeItem(keyOf(this.user));
      else this.store?.setItem(keyOf(this.user), JSON.stringify(next));
    }
    this.show(next);
  }

  private show(next: readonly Message[]): void {
    this.list = next;
    for (const listener of this.listeners) listener();
  }
}

export const messages = new MessageList(typeof localStorage === "undefined" ? undefined : localStorage);

export const unreadCount = (list: readonly Message[]): number => list.filter((one) => !one.read).length;

/** What was said in the corner, kept for whoever looked away: failures and ended operations count until they are read. */
import type { LinkProps } from "@tanstack/react-router";

const KEPT = 50;

export interface Message {
  id: number;
  /** ISO time. */
  at: string;
  tone: "ok" | "error";
  title: string;
  detail?: string;
  link?: LinkProps;
  read: boolean;
}

export type NewMessage = Omit<Message, "id" | "at">;

/** The newest first. Every change makes a new list, so that it can be compared by identity. */
export class MessageList {
  private list: readonly Message[] = [];
  private last = 0;
  private readonly listeners = new Set<() => void>();

  all = (): readonly Message[] => this.list;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  add(message: NewMessage, at: string = new Date().toISOString()): number {
    this.last += 1;
    this.set([{ ...message, id: this.last, at }, ...this.list].slice(0, KEPT));
    return this.last;
  }

  /** Without a number: all of them. */
  read(id?: number): void {
    if (!this.list.some((one) => !one.read && (id === undefined || one.id === id))) return;
    this.set(this.list.map((one) => (id === undefined || one.id === id ? { ...one, read: true } : one)));
  }

  clear(): void {
    if (this.list.length > 0) this.set([]);
  }

  private set(next: readonly Message[]): void {
    this.list = next;
    for (const listener of this.listeners) listener();
  }
}

export const messages = new MessageList();

export const unreadCount = (list: readonly Message[]): number => list.filter((one) => !one.read).length;

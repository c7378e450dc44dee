import { describe, expect, it } from "vitest";
import { MessageList, unreadCount } from "./messages";

const AT = "2026-11-21T12:00:00Z";
const failed = { tone: "error", title: "It failed", read: false } as const;
const done = { tone: "ok", title: "Done", read: true } as const;

describe("messages", () => {
  it("keep the newest first, and count what was not read", () => {
    const list = new MessageList();
    list.add(failed, AT);
    list.add(done, AT);
    expect(list.all().map(({ title }) => title)).toEqual(["Done", "It failed"]);
    expect(unreadCount(list.all())).toBe(1);
  });
  it("are read one by one, or all", () => {
    const list = new MessageList();
    const first = list.add(failed, AT);
    list.add(failed, AT);
    list.read(first);
    expect(unreadCount(list.all())).toBe(1);
    list.read();
    expect(unreadCount(list.all())).toBe(0);
  });
  it("tell who listens, and only of changes", () => {
    const list = new MessageList();
    let told = 0;
    const leave = list.subscribe(() => (told += 1));
    list.add(done, AT);
    list.read();
    expect(told).toBe(1);
    list.clear();
    list.clear();
    expect(told).toBe(2);
    leave();
    list.add(done, AT);
    expect(told).toBe(2);
  });
  it("drop the oldest above fifty", () => {
    const list = new MessageList();
    for (let index = 0; index < 60; index += 1) list.add({ ...done, title: String(index) }, AT);
    expect(list.all()).toHaveLength(50);
    expect(list.all().at(-1)?.title).toBe("10");
  });
});

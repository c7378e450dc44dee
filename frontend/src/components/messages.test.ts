import { describe, expect, it } from "vitest";
import { MessageList, parseMessages, type Store, unreadCount } from "./messages";

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

function memory(): Store & { kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
}

const titles = (list: MessageList) => list.all().map(({ title, read }) => `${title} ${read ? "read" : "new"}`);

describe("messages over a reload", () => {
  it("stay, read or unread, for each person apart", () => {
    const store = memory();
    const before = new MessageList(store);
    before.openFor("maria");
    before.read(before.add(failed, AT));
    before.add({ ...failed, title: "Again" }, AT);
    const after = new MessageList(store);
    after.openFor("maria");
    expect(titles(after)).toEqual(["Again new", "It failed read"]);
    after.openFor("jonas");
    expect(after.all()).toEqual([]);
    after.openFor("maria");
    after.clear();
    expect(store.kept.size).toBe(0);
  });
  it("take what was said before anybody was known", () => {
    const list = new MessageList(memory());
    list.add(failed, AT);
    list.openFor("maria");
    expect(titles(list)).toEqual(["It failed new"]);
  });
  it("follow the other windows of the same person", () => {
    const store = memory();
    const [one, other] = [new MessageList(store), new MessageList(store)];
    one.openFor("maria");
    other.openFor("maria");
    one.add(failed, AT);
    other.changedElsewhere("shoal.messages.maria", store.getItem("shoal.messages.maria"));
    expect(titles(other)).toEqual(["It failed new"]);
    other.changedElsewhere("shoal.messages.jonas", null);
    expect(titles(other)).toEqual(["It failed new"]);
  });
  it("say once what two windows tell of one operation", () => {
    const list = new MessageList();
    const ended = { ...failed, link: { to: "/deploy/$id", params: { id: "1" } } } as const;
    expect(list.add(ended, AT)).toBe(list.add(ended, "2026-11-21T12:00:15Z"));
    list.add(ended, "2026-11-21T12:02:00Z");
    expect(list.all()).toHaveLength(2);
  });
  it.each([[null], ["no json"], ["{}"], ['[1, {"id": "a"}, null]']])("survive %j", (text) => expect(parseMessages(text)).toEqual([]));
});

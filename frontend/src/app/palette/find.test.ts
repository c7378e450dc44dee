import { describe, expect, it } from "vitest";
import type { Permission } from "@/api/types";
import { bestFirst, countOf, find, firstOf, rank } from "./find";
import type { Item } from "./items";

const item = (label: string, over: Partial<Item> = {}): Item => ({ id: label, label, icon: "deploy", act: { kind: "theme" }, ...over });
const groups = [
  { title: "Endpoints", items: [item("digits"), item("digits-old"), item("sentiment", { detail: "Degraded" })] },
  {
    title: "Actions",
    items: [
      item("Restart blue of digits", { needs: "deploy" }),
      item("Drain gpu-a1", { needs: "operate", words: "empty" }),
      item("Sign out"),
    ],
  },
];
const viewer: Permission[] = ["read"];
const operator: Permission[] = ["read", "deploy", "operate"];
const labels = (query: string, held: Permission[] | undefined, limit = 30) =>
  firstOf(find(groups, query, held), limit).flatMap(({ items }) =>
    items.map(({ label, refusal }) => (refusal ? `${label}: ${refusal}` : label)),
  );

describe("rank", () => {
  it.each([
    ["digits", "digits", 0],
    ["digits-old", "digits", 1],
    ["Restart blue of digits", "blue", 2],
    ["Restart blue of digits", "digits restart", 3],
    ["Restart blue of digits", "green", null],
    ["anything", "  ", 0],
  ])("%s for %j is %s", (label, query, place) => expect(rank(item(label), query)).toBe(place));
  it("looks at the state and at other words too", () => {
    expect(rank(item("sentiment", { detail: "Degraded" }), "degraded")).toBe(3);
    expect(rank(item("Drain gpu-a1", { words: "empty" }), "empty gpu")).toBe(3);
  });
});

describe("find", () => {
  it("puts what is called so before what is called alike", () =>
    expect(labels("digits", operator)).toEqual(["digits", "digits-old", "Restart blue of digits"]));
  it("takes words in any order", () => expect(labels("digits blue", operator)).toEqual(["Restart blue of digits"]));
  it("leaves out what the role refuses until it is asked for", () =>
    expect(labels("", viewer)).toEqual(["digits", "digits-old", "sentiment", "Sign out"]));
  it("then shows it off, with the reason", () =>
    expect(labels("drain", viewer)).toEqual(["Drain gpu-a1: Needs the role operator or a higher one"]));
  it("refuses nothing while the session is being read", () => expect(labels("drain", undefined)).toEqual(["Drain gpu-a1"]));
  it("stops at the limit, over all groups", () => expect(labels("", operator, 4)).toHaveLength(4));
  it("has no groups without items", () => expect(find(groups, "nothing like it", operator)).toEqual([]));
  it("counts what is not shown, too", () => {
    expect(countOf(find(groups, "", operator))).toBe(6);
    expect(countOf(firstOf(find(groups, "", operator), 4))).toBe(4);
  });
});

describe("bestFirst", () => {
  it("puts the group with the nearest label first", () => {
    expect(bestFirst(groups, "restart").map(({ title }) => title)).toEqual(["Actions", "Endpoints"]);
    expect(bestFirst(groups, "digits").map(({ title }) => title)).toEqual(["Endpoints", "Actions"]);
  });
  it("orders what thousands of things can do, too", () => {
    const many = { title: "Actions", items: Array.from({ length: 150_000 }, (_, index) => item(`restart ${index}`)) };
    expect(bestFirst([groups[0] ?? many, many], "restart 149999").map(({ title }) => title)).toEqual(["Actions", "Endpoints"]);
  });
});

import { expect, test } from "vitest";
import { bodyOf, draftOf, moved, ruleText, sameDraft } from "./routing";

const SAVED = {
  traffic_rules: [
    { header: "x-group", exact: "testers", deployment: "green" },
    { header: "user-agent", prefix: "beta/", deployment: "blue" },
    { header: "x-team", regex: "team-[0-9]+", deployment: "green" },
    { header: "x-debug", present: true, deployment: "blue" },
  ],
  sticky: { cookie: "arm", max_age_s: 60 },
};

test("what is saved is sent back as it is", () => {
  expect(bodyOf(draftOf(SAVED))).toEqual(SAVED);
  expect(bodyOf(draftOf({ traffic_rules: [], sticky: null }))).toEqual({ traffic_rules: [], sticky: null });
  expect(bodyOf(draftOf({ traffic_rules: [], sticky: { header: "x-user" } })).sticky).toEqual({ header: "x-user" });
});

test("a cookie without a lifetime gets the server's, and a header has none", () => {
  const draft = { ...draftOf(SAVED), maxAge: "" as const };
  expect(bodyOf(draft).sticky).toEqual({ cookie: "arm" });
  expect(bodyOf({ ...draftOf(SAVED), by: "header", name: "x-user" }).sticky).toEqual({ header: "x-user" });
});

test("rules change places, and stay at the ends", () => {
  const { rules } = draftOf(SAVED);
  const headers = (id: string, by: -1 | 1) => moved(rules, id, by).map((rule) => rule.header);
  expect(headers("saved-1", -1)).toEqual(["user-agent", "x-group", "x-team", "x-debug"]);
  expect(headers("saved-0", -1)).toEqual(["x-group", "user-agent", "x-team", "x-debug"]);
  expect(headers("saved-3", 1)).toEqual(["x-group", "user-agent", "x-team", "x-debug"]);
  expect(sameDraft(draftOf(SAVED), { ...draftOf(SAVED), rules: moved(rules, "saved-0", 1) })).toBe(false);
});

test("rules read as the command writes them", () => {
  expect(draftOf(SAVED).rules.map(ruleText)).toEqual([
    "x-group=testers->green",
    "user-agent^=beta/->blue",
    "x-team~team-[0-9]+->green",
    "x-debug->blue",
  ]);
});

import { expect, test } from "vitest";
import { following } from "@/app/time-range";
import { replicaKey, replicaScopes } from "@/live/metric-keys";
import { KEPT_SECONDS, noReplicas, REPLICA_METRICS, replicaGroups, replicaLabel, replicaNotes } from "./replica-panels";

const OWNERS = [
  {
    name: "blue",
    replicas: [
      { id: "aaaaaaaa1", ordinal: 0 },
      { id: "bbbbbbbb2", ordinal: 1 },
      { id: "cccccccc3", ordinal: 1 },
    ],
  },
  { name: "green", replicas: [{ id: "dddddddd4", ordinal: 0 }] },
];
const NOW = 1_000_000;
const fixed = (from: number, to: number) => ({ kind: "fixed" as const, from, to, seconds: to - from });

test.each([
  ["blue", "aaaaaaaa1", "blue 0"],
  ["green", "dddddddd4", "green 0"],
  ["blue", "bbbbbbbb2", "blue 1, bbbbbbbb"], // two of one number, while one replaces the other
  ["blue", "eeeeeeeeee", "blue eeeeeeee, gone"],
  ["red", "aaaaaaaa1", "red aaaaaaaa, gone"],
])("%s/%s is called %s", (deployment, id, label) => {
  expect(replicaLabel({ deployment, id }, OWNERS)).toBe(label);
});

test("keys name their replicas, each once, whatever else is among them", () => {
  const scopes = [
    { deployment: "blue", id: "r.0" },
    { deployment: "green", id: "r1" },
  ];
  const keys = scopes.flatMap((scope) => [replicaKey("busy", scope), replicaKey("queue_us", scope)]);
  expect(replicaScopes([...keys, "busy.all", "host_cpu.node:a1", "busy.blue"])).toEqual(scopes);
  expect(replicaScopes([])).toEqual([]);
});

test("every panel has a line for each replica, told apart, and a title and formula of its own", () => {
  const scopes = Array.from({ length: 12 }, (_, index) => ({ deployment: "blue", id: `r${index}` }));
  const panels = replicaGroups(scopes, OWNERS).flatMap((group) => group.panels);
  expect(panels.length).toBe(REPLICA_METRICS.length);
  expect(new Set(panels.map((panel) => panel.title)).size).toBe(panels.length);
  for (const panel of panels) {
    expect(new Set(panel.lines.map((line) => `${line.color} ${line.dash ?? ""}`)).size, panel.title).toBe(12);
    expect(panel.formula.length, panel.title).toBeGreaterThan(20);
  }
});

test("nothing is asked of the gateway, which knows no replica", () => {
  for (const metric of REPLICA_METRICS) expect(metric).not.toMatch(/^(p\d\d_us|error|answers|received|sent)/);
});

test.each([
  [following("15m"), 0, 1, /gateway/],
  [following("6h"), 0, 1, /gateway/],
  [following("24h"), 0, 2, /6 hours/],
  [fixed(NOW - KEPT_SECONDS - 600, NOW - 600), 0, 2, /6 hours/],
  [following("1m"), 1, 2, /1 more replica is not/],
  [following("7d"), 3, 3, /3 more replicas are not/],
])("notes of %o with %d left out", (range, leftOut, count, last) => {
  const notes = replicaNotes(range, leftOut, NOW);
  expect(notes).toHaveLength(count);
  expect(notes.at(-1)).toMatch(last);
});

test.each([
  [following("24h"), /No replica was sampled/],
  [fixed(NOW - 2 * KEPT_SECONDS, NOW - KEPT_SECONDS - 1), /Too long ago/],
  [fixed(NOW - 2 * KEPT_SECONDS, NOW - 60), /No replica was sampled/],
])("an empty page of %o says why", (range, title) => {
  expect(noReplicas(range, NOW).title).toMatch(title);
});

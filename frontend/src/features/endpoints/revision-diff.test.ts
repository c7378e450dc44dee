import { expect, test } from "vitest";
import type { DeploymentRevision } from "@/api/types";
import { differences } from "./revision-diff";

const revision = (over: Partial<DeploymentRevision> = {}) =>
  ({
    number: 1,
    model: "digits",
    version: 1,
    config_revision: null,
    digest: "sha256:aaaaaaaaaaaaaaaa",
    environment: {},
    secret_environment: [],
    node_labels: {},
    instance_type: null,
    anti_affinity: "preferred",
    liveness_probe: null,
    readiness_probe: null,
    max_queue_wait_ms: null,
    response_cache_bytes: null,
    author: "maria",
    cause: "created",
    succeeded: true,
    current: false,
    created_at: "2026-11-21T14:00:00Z",
    ...over,
  }) as DeploymentRevision;

test("equal revisions differ in nothing", () => expect(differences(revision(), revision({ number: 2 }))).toEqual([]));

test("another longest wait and a response cache are told", () =>
  expect(differences(revision(), revision({ max_queue_wait_ms: 250, response_cache_bytes: 1024 }))).toEqual([
    { field: "longest queue wait", before: "–", after: "250 ms" },
    { field: "response cache", before: "–", after: "1024 bytes" },
  ]));

test("what is captured is told by the names that files have for it", () => {
  const capture = { sampling_rate: 0.1, drop: [], hash: ["customer", "name"] } as unknown as DeploymentRevision["capture"];
  expect(differences(revision(), revision({ capture }))).toEqual([
    { field: "captured", before: "–", after: "sampling_rate 0.1; hash customer, name" },
  ]);
});

test("another version, a setting and a secret are told; a secret's value is not", () => {
  const after = revision({ version: 2, digest: "sha256:bbbbbbbbbbbbbbbb", environment: { LEVEL: "2" }, secret_environment: ["KEY"] });
  expect(differences(revision({ environment: { LEVEL: "1" } }), after)).toEqual([
    { field: "model", before: "digits v1", after: "digits v2" },
    { field: "files", before: "aaaaaaaaaaaa", after: "bbbbbbbbbbbb" },
    { field: "environment LEVEL", before: "1", after: "2" },
    { field: "secret KEY", before: "–", after: "set" },
  ]);
});

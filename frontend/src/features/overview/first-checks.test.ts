import { describe, expect, it } from "vitest";
import type { Overview, SystemPart } from "@/api/types";
import { bytes } from "@/components/format";
import { firstChecks } from "./first-checks";

const part = (kind: SystemPart["kind"], over: Partial<SystemPart> = {}): SystemPart => ({
  kind,
  name: kind,
  state: "ok",
  summary: "answers in 0.4 ms",
  hint: "",
  facts: [],
  lag_s: null,
  depth: null,
  ...over,
});
const disk = (name: string, folder: string) =>
  part("disk", { name, summary: "212.0 GiB free", facts: [{ name: "folder", value: folder }] });
const overview = (online: string[], gpus = 0, nodes_online = online.length): Overview =>
  ({
    counts: { nodes_online },
    nodes: online.map((name) => ({ name, state: "online" })),
    totals: { gpus, gpu_name: "A10", gpu_memory_bytes: gpus * 2 ** 30 },
  }) as unknown as Overview;
const lines = (parts: SystemPart[], shown: Overview) =>
  firstChecks(parts, shown).map(({ label, text, tone }) => `${tone} ${label}: ${text}`);

describe("the checks of a first run", () => {
  it("say what works, in the order of a request's road", () => {
    const parts = [
      disk("Model files", "/srv/blobs"),
      disk("Data", "/srv"),
      part("broker"),
      part("database", { name: "Main database" }),
      part("database", { name: "Metrics database" }),
      part("certificate", { facts: [{ name: "SHA-256", value: "AB:CD" }] }),
      part("worker"),
    ];
    expect(lines(parts, overview(["local"], 1))).toEqual([
      "ok Database: answers in 0.4 ms",
      "ok Broker: answers in 0.4 ms",
      "ok TLS, SHA-256: AB:CD",
      "ok Data folder: /srv, 212.0 GiB free",
      "ok Node: local online",
      `ok GPU: 1 × A10, ${bytes(2 ** 30)} in all`,
    ]);
  });

  it("say what to do about what does not, and take a missing GPU for no fault", () => {
    const broken = part("broker", { state: "error", summary: "does not answer", hint: "Start Redis." });
    expect(lines([broken], overview([]))).toEqual([
      "error Broker: does not answer. Start Redis.",
      "warn Node: none is online yet",
      "idle GPU: none found; models run on processors",
    ]);
  });

  it("name a few nodes, and count the others", () =>
    expect(lines([], overview(["a", "b", "c", "d", "e", "f"], 0, 1000))[0]).toBe("ok Nodes: a, b, c, d, e and 995 more online"));
});

import { describe, expect, it } from "vitest";
import type { Project } from "@/api/types";
import { changeOf, fieldsOf, shareOf } from "./project-form";

const VISION: Project = {
  name: "vision",
  display_name: "Computer vision",
  archived: false,
  max_replicas: 20,
  max_gpus: null,
  max_bytes: 1.5 * 2 ** 30,
  used_replicas: 5,
  used_gpus: 0,
  used_bytes: 2 ** 30,
  created_by: "ada",
  created_at: "2026-11-26T12:00:00Z",
};

describe("the fields of a project", () => {
  it("send what they were filled with", () =>
    expect(changeOf(fieldsOf(VISION))).toEqual({
      display_name: "Computer vision",
      max_replicas: 20,
      max_gpus: null,
      max_bytes: 1.5 * 2 ** 30,
    }));
  it("are empty for a new one, which has no limit then", () =>
    expect(changeOf(fieldsOf(null))).toEqual({ display_name: "", max_replicas: null, max_gpus: null, max_bytes: null }));
  it("keep a limit of nothing apart from none", () => expect(changeOf({ ...fieldsOf(VISION), gpus: 0 }).max_gpus).toBe(0));
});

describe("the share of a quota", () => {
  it.each([
    [5, 20, 25],
    [30, 20, 100],
    [0, 0, 0],
    [1, 0, 100],
    [7, null, undefined],
  ])("of %j used and %j allowed is %j", (used, most, share) => expect(shareOf(used, most)).toBe(share));
});

import { describe, expect, it } from "vitest";
import { EMPTY_TYPE, fieldsOf, inputOf } from "./instance-type-form";

const TYPE = {
  name: "gpu-t4",
  description: "one T4",
  aliases: ["Standard_NC4as_T4_v3", "t4"],
  gpu_count: 1,
  gpu_policy: "required" as const,
  gpu_model: "T4",
  gpu_memory_bytes: 15 * 2 ** 30,
  cpu_count: 4,
  memory_bytes: 28 * 2 ** 30,
  node_labels: { zone: "a", kind: "x=y" },
  used_by: 0,
  nodes: [],
  created_at: "",
  updated_at: "",
};

describe("the form of an instance type", () => {
  it("gives back what it was filled with", () => {
    const { used_by: _, nodes: __, created_at: ___, updated_at: ____, ...sent } = TYPE;
    expect(inputOf(fieldsOf(TYPE))).toEqual(sent);
  });
  it("takes spaces and empty parts away", () =>
    expect(inputOf({ ...EMPTY_TYPE, name: " a ", aliases: " b ,, c", labels: " zone = a ,", gpuGib: 0.5 })).toMatchObject({
      name: "a",
      aliases: ["b", "c"],
      node_labels: { zone: "a" },
      gpu_memory_bytes: 2 ** 29,
    }));
});

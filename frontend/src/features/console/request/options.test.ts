import { describe, expect, it } from "vitest";
import { afterCall, newOptions, optionsOf, optionsProblem, parametersOf } from "./options";

const sequence = (id: string, start = true, end = false) => ({ ...newOptions(), sequence: { id, start, end } });

describe("sequences", () => {
  it("travel as the model counts them", () => {
    expect(parametersOf(sequence("7"), { sequence: null })).toEqual({});
    expect(parametersOf(sequence("7"), { sequence: "number" })).toEqual({ sequence_id: 7, sequence_start: true, sequence_end: false });
    expect(parametersOf(sequence("ada"), { sequence: "text" })).toMatchObject({ sequence_id: "ada" });
  });

  it("need an id that the model takes", () => {
    expect(optionsProblem(sequence(""), { sequence: null })).toBeNull();
    expect(optionsProblem(sequence(""), { sequence: "text" })).toContain("id");
    expect(optionsProblem(sequence("ada"), { sequence: "number" })).toContain("whole number");
    expect(optionsProblem(sequence("0"), { sequence: "number" })).toContain("1 or more");
    expect(optionsProblem(sequence("9"), { sequence: "number" })).toBeNull();
  });

  it("go on, and begin anew after their end", () => {
    expect(afterCall(sequence("7")).sequence).toEqual({ id: "7", start: false, end: false });
    expect(afterCall(sequence("7", false, true)).sequence).toEqual({ id: "8", start: true, end: false });
    expect(afterCall(sequence("ada", false, true)).sequence).toEqual({ id: "ada", start: true, end: false });
  });

  it("come back from a saved case", () => {
    expect(optionsOf({ protocol: "grpc", version: "2", parameters: { sequence_id: 4, sequence_end: true } })).toEqual({
      protocol: "grpc",
      version: "2",
      sequence: { id: "4", start: true, end: true },
    });
  });
});

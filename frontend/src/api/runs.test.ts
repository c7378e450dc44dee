import { expect, test } from "vitest";
import { ApiProblem } from "./problem";
import { isUnderWay, untilEnded, whileUnderWay } from "./runs";

const gone = new ApiProblem({ title: "Not found", detail: "", code: "SweepNotFound" }, 404);
const away = new ApiProblem({ title: "Bad gateway", detail: "", code: "BadGateway" }, 502);

test.each([
  ["Queued", true],
  ["Running", true],
  ["Succeeded", false],
  ["Failed", false],
  ["Canceled", false],
])("%s is under way: %s", (state, underWay) => {
  expect(isUnderWay({ state })).toBe(underWay);
});

test.each([
  ["nothing is known yet", undefined, null, 700],
  ["it runs", "Running", null, 700],
  ["it has ended", "Succeeded", null, false],
  ["the server is away", "Running", away, 700],
  ["the server is away from the beginning", undefined, away, 700],
  ["it is kept no longer", undefined, gone, false],
  ["it was deleted meanwhile", "Running", gone, false],
])("one is asked for again where %s", (_, state, error, every) => {
  expect(untilEnded(700)({ state: { data: state ? { state } : undefined, error } })).toBe(every);
});

test("a list is asked for more often while one of it is under way", () => {
  const every = (...states: string[]) => whileUnderWay({ state: { data: states.map((state) => ({ state })) } });
  expect(every("Failed", "Queued")).toBe(1_000);
  expect(every("Failed")).toBe(15_000);
  expect(whileUnderWay({ state: { data: undefined } })).toBe(15_000);
});

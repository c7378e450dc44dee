import { expect, it } from "vitest";
import { bySeverity, type ProblemSeverity } from "./problem-severity";

it("puts errors before warnings before notes", () => {
  const problems = (["info", "error", "warning", "error"] as ProblemSeverity[]).map((severity) => ({ severity }));
  expect(problems.sort(bySeverity).map(({ severity }) => severity)).toEqual(["error", "error", "warning", "info"]);
});

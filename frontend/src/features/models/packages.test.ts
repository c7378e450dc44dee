import { expect, test } from "vitest";
import { packagesOf } from "./packages";

test("packages are what is no comment and no option", () => {
  const requirements = "numpy==2.1\n# why\n\n--extra-index-url https://a.b/c\n  pandas>=2 # frames\nfile @ https://a.b/c#egg=file\n";
  expect(packagesOf({ requirements })).toEqual(["numpy==2.1", "pandas>=2", "file @ https://a.b/c#egg=file"]);
  expect(packagesOf({ requirements: "" })).toEqual([]);
});

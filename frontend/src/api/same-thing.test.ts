import { expect, test } from "vitest";
import { keys } from "./keys";
import { sameThing } from "./same-thing";

const asked = (endpoint: string, deployment: string, hours: number) => ({ queryKey: keys.endpoints.data(endpoint, deployment, hours) });

test("another window of the same deployment keeps what was shown, another deployment does not", () => {
  const kept = sameThing(keys.endpoints.data("digits", "blue", 24));
  expect(kept("shown", asked("digits", "blue", 1))).toBe("shown");
  expect(kept("shown", asked("digits", "green", 24))).toBeUndefined();
  expect(kept("shown", asked("other", "blue", 24))).toBeUndefined();
  expect(kept("shown", undefined)).toBeUndefined();
});

import { describe, expect, it } from "vitest";
import { providerSignIn, signInError } from "./sign-in-errors";

describe("what the sign-in page says of a provider's sign-in", () => {
  it("has words of its own for each code, and never those of the address", () => {
    expect(signInError(undefined)).toBeNull();
    expect(signInError("NoRole")).toContain("no group");
    for (const other of ["Call 0900 123", "constructor", "__proto__"])
      expect(signInError(other)).toBe("The sign-in did not succeed. Try again.");
  });

  it.each([
    ["/", "/oidc/login"],
    ["/models?q=a&b", "/oidc/login?next=%2Fmodels%3Fq%3Da%26b"],
  ])("leads back to %s", (next, path) => expect(providerSignIn(next)).toBe(path));
});

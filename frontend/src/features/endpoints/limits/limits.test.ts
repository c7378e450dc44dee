import { describe, expect, it } from "vitest";
import { ApiProblem } from "@/api/problem";
import { bodyOf, draftOf, type LimitsDraft, refusalOf, sameDraft } from "./limits";

const NONE: LimitsDraft = { origins: "", bytes: "", perSecond: "", burst: "", per: "endpoint" };
const refused = (errors: unknown) => new ApiProblem({ status: 400, detail: "no", errors }, 400);

describe("limits of an endpoint", () => {
  it.each([
    ["nothing is limited", NONE, { cors_origins: [], max_request_bytes: null, rate_limit: null }],
    [
      "origins by lines, commas and spaces",
      { ...NONE, origins: " https://a.example\n\nhttp://b.example:3000, https://c.example " },
      { cors_origins: ["https://a.example", "http://b.example:3000", "https://c.example"], max_request_bytes: null, rate_limit: null },
    ],
    [
      "zero is sent, for the server to refuse",
      { ...NONE, bytes: 0 as const },
      { cors_origins: [], max_request_bytes: 0, rate_limit: null },
    ],
    [
      "a pace without a burst",
      { ...NONE, perSecond: 100, per: "key" as const },
      { cors_origins: [], max_request_bytes: null, rate_limit: { requests_per_second: 100, per: "key" } },
    ],
    ["a burst alone is nothing", { ...NONE, burst: 5 }, { cors_origins: [], max_request_bytes: null, rate_limit: null }],
  ])("%s", (_, draft, body) => {
    expect(bodyOf(draft)).toEqual(body);
  });

  it("comes back as it was sent", () => {
    const body = {
      cors_origins: ["https://a.example"],
      max_request_bytes: 16_777_216,
      rate_limit: { requests_per_second: 100, burst: 200, per: "key" as const },
    };
    expect(bodyOf(draftOf(body))).toEqual(body);
    expect(sameDraft(draftOf(body), { ...draftOf(body), origins: "https://a.example\n" })).toBe(true);
    expect(sameDraft(draftOf(body), { ...draftOf(body), burst: 201 })).toBe(false);
  });

  it.each([
    [
      { max_request_bytes: ["0 is out of range: expected 1 to 2147483647."] },
      { max_request_bytes: "0 is out of range: expected 1 to 2147483647." },
    ],
    [{ rate_limit: { burst: ["0 is out of range."] } }, { burst: "0 is out of range." }],
    [{ rate_limit: ["Expected an object."] }, { requests_per_second: "Expected an object." }],
    [{ cors_origins: { "0": ["too long"], "2": ["too long"] } }, { cors_origins: "too long" }],
    [{ cors_origins: ["'a' is no origin.", "'b' is no origin."] }, { cors_origins: "'a' is no origin. 'b' is no origin." }],
  ])("says the server's words at the field: %j", (errors, fields) => {
    expect(refusalOf(refused(errors))).toEqual({ fields, other: null });
  });

  it("keeps what is about no field", () => {
    const lost = new ApiProblem({ title: "Conflict" }, 409);
    expect(refusalOf(lost)).toEqual({ fields: {}, other: lost });
    const unknown = refused({ traffic: ["no"] });
    expect(refusalOf(unknown).other).toBe(unknown);
    expect(refusalOf(null)).toEqual({ fields: {}, other: null });
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { apiPath, get, getAll, onUnauthorized, post, put, del, setCsrfToken } from "./client";
import { ApiProblem, toProblem } from "./problem";

const answer = (status: number, body: unknown, type = "application/json") =>
  new Response(body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "content-type": type, "x-request-id": "req-1" },
  });
let fetched: ReturnType<typeof vi.fn>;

beforeEach(() => {
  fetched = vi.fn();
  vi.stubGlobal("fetch", fetched);
});
afterEach(() => setCsrfToken(""));

const problemOf = async (promise: Promise<unknown>): Promise<ApiProblem> => {
  try {
    await promise;
  } catch (error) {
    return toProblem(error);
  }
  throw new Error("the call succeeded");
};

describe("the door to the API", () => {
  test("escapes every segment: names may hold dots, slashes and colons", () => {
    expect(apiPath("models", "a/b:0", "versions", 3)).toBe("/api/v1/models/a%2Fb%3A0/versions/3");
    expect(apiPath("models", "../secret")).toBe("/api/v1/models/..%2Fsecret");
  });

  test("leaves empty query values out", async () => {
    fetched.mockResolvedValue(answer(200, {}));
    await get("/api/v1/x", { query: { q: "", limit: 5, cursor: undefined, after: 0 } });
    expect(fetched.mock.calls[0]?.[0]).toBe("/api/v1/x?limit=5&after=0");
  });

  test("a whole list is read page after page", async () => {
    fetched.mockResolvedValueOnce(answer(200, { items: [1, 2], next_cursor: "two" }));
    fetched.mockResolvedValueOnce(answer(200, { items: [3], next_cursor: null }));
    expect(await getAll("/api/v1/nodes", { query: { q: "a" } })).toEqual({ items: [1, 2, 3], next_cursor: null });
    expect(fetched.mock.calls.map((args) => args[0])).toEqual(["/api/v1/nodes?q=a&limit=500", "/api/v1/nodes?q=a&limit=500&cursor=two"]);
  });

  test("writes carry the CSRF token, reads do not", async () => {
    setCsrfToken("secret");
    fetched.mockImplementation(() => Promise.resolve(answer(200, {})));
    await get("/api/v1/x");
    await post("/api/v1/x", { a: 1 });
    const headers = fetched.mock.calls.map((args) => (args[1] as { headers: Headers }).headers.get("X-CSRFToken"));
    expect(headers).toEqual([null, "secret"]);
  });

  test("a problem document becomes an error with its code, hints and request id", async () => {
    fetched.mockResolvedValue(
      answer(409, { title: "In use", detail: "Endpoint a serves it.", code: "InUse", hints: ["Delete it."] }, "application/problem+json"),
    );
    const problem = await problemOf(get("/api/v1/x"));
    expect(problem).toMatchObject({ status: 409, code: "InUse", detail: "Endpoint a serves it.", hints: ["Delete it."], requestId: "req-1" });
  });

  test("an answer that is no document still tells its status", async () => {
    fetched.mockResolvedValue(answer(502, "<html>bad gateway</html>", "text/html"));
    const problem = await problemOf(get("/api/v1/x"));
    expect(problem).toMatchObject({ status: 502, code: "Http502" });
  });

  test("a server that does not answer is status 0", async () => {
    fetched.mockRejectedValue(new TypeError("Failed to fetch"));
    expect(await problemOf(get("/api/v1/x"))).toMatchObject({ status: 0, code: "Unreachable" });
  });

  test("401 tells that the session has ended, except from signing in", async () => {
    const ended = vi.fn();
    const stop = onUnauthorized(ended);
    fetched.mockImplementation(() => Promise.resolve(answer(401, { title: "No" })));
    await problemOf(post("/api/v1/session", {}));
    expect(ended).not.toHaveBeenCalled();
    await problemOf(get("/api/v1/models"));
    expect(ended).toHaveBeenCalledTimes(1);
    stop();
  });

  test("a write may outlive its page, as long as the browser allows for so many bytes", async () => {
    let answerAll: (response: Response) => void = () => undefined;
    fetched.mockImplementation(() => new Promise((resolve) => (answerAll = resolve)));
    const outlives = () => (fetched.mock.lastCall?.[1] as RequestInit | undefined)?.keepalive ?? false;
    const first = put("/api/v1/x", "a".repeat(40_000), { outlive: true });
    expect(outlives()).toBe(true);
    void put("/api/v1/x", "b".repeat(40_000), { outlive: true });
    expect(outlives()).toBe(false);
    void del("/api/v1/x", undefined, { outlive: true });
    expect(outlives()).toBe(true);
    void put("/api/v1/x", "c");
    expect(outlives()).toBe(false);
    fetched.mockReset();
    fetched.mockImplementation(() => Promise.resolve(answer(200, {})));
    answerAll(answer(200, {}));
    void first;
  });

  test("an empty answer is no error", async () => {
    fetched.mockResolvedValue(answer(200, undefined));
    await expect(get("/api/v1/x")).resolves.toBeUndefined();
  });
});

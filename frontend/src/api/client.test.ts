import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { answer, api, everyPage, onUnauthorized, outliving, setCsrfToken } from "./client";
import { apiPath } from "./paths";
import { ApiProblem, toProblem } from "./problem";

const reply = (status: number, body: unknown, type = "application/json") =>
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

const asked = (): Request[] => fetched.mock.calls.map(([request]) => request as Request);
const addresses = () => asked().map(({ url }) => url.replace("http://shoal.test", ""));
const readNodes = () => answer(api.GET("/api/v1/nodes"));

describe("the client of the API", () => {
  test("escapes every segment: names may hold dots, slashes and colons", async () => {
    expect(apiPath("models", "a/b:0", "versions", 3)).toBe("/api/v1/models/a%2Fb%3A0/versions/3");
    expect(apiPath("models", "../secret")).toBe("/api/v1/models/..%2Fsecret");
    fetched.mockImplementation(() => Promise.resolve(reply(200, {})));
    await answer(api.GET("/api/v1/models/{name}", { params: { path: { name: "a/b:0" } } }));
    await answer(api.GET("/api/v1/models/{name}", { params: { path: { name: "../secret" } } }));
    expect(addresses()).toEqual(["/api/v1/models/a%2Fb%3A0", "/api/v1/models/..%2Fsecret"]);
  });

  test("leaves empty query values out and repeats lists", async () => {
    fetched.mockResolvedValue(reply(200, {}));
    const query = { q: "", limit: 5, cursor: undefined, after_seq: 0, severity: ["warning" as const, "error" as const] };
    await answer(api.GET("/api/v1/events", { params: { query } }));
    expect(addresses()).toEqual(["/api/v1/events?limit=5&after_seq=0&severity=warning&severity=error"]);
  });

  test("a whole list is read page after page", async () => {
    fetched.mockResolvedValueOnce(reply(200, { items: [1, 2], next_cursor: "two" }));
    fetched.mockResolvedValueOnce(reply(200, { items: [3], next_cursor: null }));
    const found = await everyPage((page) => api.GET("/api/v1/nodes", { params: { query: { q: "a", ...page } } }));
    expect(found).toEqual({ items: [1, 2, 3], next_cursor: null });
    expect(addresses()).toEqual(["/api/v1/nodes?q=a&limit=500", "/api/v1/nodes?q=a&limit=500&cursor=two"]);
  });

  test("writes carry the CSRF token, reads do not", async () => {
    setCsrfToken("secret");
    fetched.mockImplementation(() => Promise.resolve(reply(200, {})));
    await readNodes();
    await answer(api.POST("/api/v1/storage/collect"));
    expect(asked().map(({ headers }) => headers.get("X-CSRFToken"))).toEqual([null, "secret"]);
  });

  test("a problem document becomes an error with its code, hints and request id", async () => {
    fetched.mockResolvedValue(
      reply(409, { title: "In use", detail: "Endpoint a serves it.", code: "InUse", hints: ["Delete it."] }, "application/problem+json"),
    );
    const problem = await problemOf(readNodes());
    expect(problem).toMatchObject({
      status: 409,
      code: "InUse",
      detail: "Endpoint a serves it.",
      hints: ["Delete it."],
      requestId: "req-1",
    });
  });

  test.each([
    [new Response("<html>bad gateway</html>", { status: 502 }), "<html>bad gateway</html>"],
    [new Response(null, { status: 502, headers: { "content-length": "0" } }), ""],
  ])("an answer that is no document still tells its status", async (response, detail) => {
    fetched.mockResolvedValue(response);
    expect(await problemOf(readNodes())).toMatchObject({ status: 502, code: "Http502", detail });
  });

  test("a server that does not answer is status 0", async () => {
    fetched.mockRejectedValue(new TypeError("Failed to fetch"));
    expect(await problemOf(readNodes())).toMatchObject({ status: 0, code: "Unreachable" });
  });

  test("an abort stays the browser's", async () => {
    fetched.mockRejectedValue(new DOMException("left", "AbortError"));
    await expect(readNodes()).rejects.toMatchObject({ name: "AbortError" });
  });

  test("401 tells that the session has ended, except from signing in", async () => {
    const ended = vi.fn();
    const stop = onUnauthorized(ended);
    fetched.mockImplementation(() => Promise.resolve(reply(401, { title: "No" })));
    await problemOf(answer(api.POST("/api/v1/session", { body: { username: "a", password: "b" } })));
    expect(ended).not.toHaveBeenCalled();
    await problemOf(answer(api.GET("/api/v1/models")));
    expect(ended).toHaveBeenCalledTimes(1);
    stop();
  });

  test("a write may outlive its page, as long as the browser allows for so many bytes", async () => {
    const answers: (() => void)[] = [];
    const outlives = (size: number) =>
      new Promise<boolean>((told) => {
        const send = ({ keepalive }: RequestInit) => (told(keepalive ?? false), new Promise<void>((done) => answers.push(done)));
        void outliving("a".repeat(size), send);
      });
    expect(await outlives(40_000)).toBe(true);
    expect(await outlives(40_000)).toBe(false);
    expect(await outlives(0)).toBe(true);
    for (const done of answers) done();
    await Promise.resolve();
    expect(await outlives(60_000)).toBe(true);
  });

  test("what outlives its page is sent so", async () => {
    fetched.mockResolvedValue(reply(200, {}));
    await outliving(undefined, (init) => answer(api.DELETE("/api/v1/drafts/{draft_id}", { params: { path: { draft_id: "a" } }, ...init })));
    expect(asked()[0]).toMatchObject({ keepalive: true, method: "DELETE" });
  });

  test("an empty answer is no error", async () => {
    fetched.mockResolvedValue(reply(200, undefined));
    await expect(readNodes()).resolves.toBeUndefined();
  });
});

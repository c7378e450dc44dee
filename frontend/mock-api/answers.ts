/** How the made-up installation answers, and what the address of the page says of it. */
import { role } from "./people";

export interface MockRequest {
  method: string;
  path: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
  ifMatch: string | null;
}
export interface MockAnswer {
  status: number;
  body: unknown;
}

const MANY = new URLSearchParams(location.search).get("many") ?? 0;
export const state = {
  authenticated: localStorage.getItem("mock.signed-out") !== "1",
  secondFactor: false,
  empty: new URLSearchParams(location.search).has("empty"),
  /** By the address that the page was opened at, or as a test wishes. */
  get many() {
    return Number(localStorage.getItem("mock.many") ?? MANY);
  },
};
export const ok = (body: unknown, status = 200): MockAnswer => ({ status, body });
export const list = (items: unknown[]): MockAnswer => ok({ items, next_cursor: null, total: items.length });
export const missing = (what: string): MockAnswer => ({
  status: 404,
  body: { type: "about:blank", title: "Not found", status: 404, detail: `${what} does not exist.`, code: "NotFound", hints: [] },
});

/** What a role lacks, refused as the server would. */
export const refused = (needed: string): MockAnswer => ({
  status: 403,
  body: {
    title: "Forbidden",
    status: 403,
    code: "Forbidden",
    detail: `This needs the permission ${needed}; maria is ${role()}.`,
    hints: [],
  },
});

export const wrong = (code: string): MockAnswer => ({ status: 401, body: { title: "Refused", detail: "It is wrong.", status: 401, code } });

/** The list of endpoints of the made-up installation, in pages as the server makes them. */
import type { Endpoint, Overview } from "../src/api/types";
import { endpoints } from "./db";

type Live = Overview["endpoints"][number]["live"];

const LIVE: readonly Live[] = [
  { answer_rate: 1017, p95_us: 7580, error_rate: 0.0006 },
  { answer_rate: 42.4, p95_us: 812, error_rate: 0 },
  { answer_rate: 88.1, p95_us: 48_300, error_rate: 0.031 },
];
const QUIET: Live = { answer_rate: null, p95_us: null, error_rate: null };

export const liveOf = (index: number): Live => LIVE[index] ?? QUIET;

function fits(row: Endpoint, q: string, states: string): boolean {
  const words = [row.name, row.description, ...row.models.map((model) => model.name)];
  return (!states || states.split(",").includes(row.serving_state)) && words.some((word) => word.toLowerCase().includes(q.toLowerCase()));
}

/** `many`: so many endpoints, made of the first. */
export function endpointPage(query: URLSearchParams, many: number) {
  const all = Array.from({ length: many || endpoints.length }, (_, index) => {
    const name = `endpoint-${String(index).padStart(5, "0")}`;
    const row = (endpoints[many ? 0 : index] ?? endpoints[0]) as Endpoint;
    return { row: many ? { ...row, name } : row, live: liveOf(many ? 0 : index) };
  });
  const found = all.filter(({ row }) => fits(row, query.get("q") ?? "", query.get("serving_state") ?? ""));
  const start = Number(query.get("cursor") ?? 0);
  const end = start + Number(query.get("limit") ?? 50);
  const page = found.slice(start, end);
  return {
    items: page.map(({ row }) => row),
    live: Object.fromEntries(page.map(({ row, live }) => [row.name, live])),
    next_cursor: end < found.length ? String(end) : null,
    total: found.length,
  };
}

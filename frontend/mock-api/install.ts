/** Replaces the network by the made-up installation: `npm run dev:mock` needs no server. */
import { fileAnswer } from "./files";
import { MockSocket } from "./live";
import { answer } from "./routes";

const LATENCY_MS = 60;

async function mockFetch(real: typeof fetch, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const url = new URL(request.url);
  if (!url.pathname.startsWith("/api/v1/")) return real(request);
  await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
  const path = url.pathname
    .slice("/api/v1/".length)
    .split("/")
    .map((segment) => decodeURIComponent(segment));
  const file = fileAnswer(path, request.headers.get("range"));
  if (file) return file;
  const text = await request.text();
  const body = text ? (JSON.parse(text) as Record<string, unknown>) : {};
  const { status, body: reply } = answer({
    method: request.method,
    path,
    query: url.searchParams,
    body,
    ifMatch: request.headers.get("if-match"),
  });
  // browsers take no body with 204
  return new Response(status === 204 ? null : JSON.stringify(reply), { status, headers: { "content-type": "application/json" } });
}

export function install(): void {
  const real = window.fetch.bind(window);
  window.fetch = (input, init) => mockFetch(real, input, init);
  window.WebSocket = MockSocket as unknown as typeof WebSocket;
}

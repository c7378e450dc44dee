/** Calls of the REST API as curl commands; the token stays a variable, so that nobody pastes a secret. */
import type { ApiCall } from "./recipe";
import { shellWord } from "./shell-lines";

function address(call: ApiCall, origin: string): string {
  const search = new URLSearchParams(
    Object.entries(call.query ?? {}).map(([key, value]): [string, string] => [key, String(value)]),
  ).toString();
  return `${origin}${call.path}${search ? `?${search}` : ""}`;
}

/** `origin` is where the studio answers: `https://host:8080`. */
export function curlCommand(call: ApiCall, origin: string): string {
  const parts = [call.method === "GET" ? "curl -sS" : `curl -sS -X ${call.method}`];
  parts.push(shellWord(address(call, origin)));
  parts.push('-H "Authorization: Bearer $SHOAL_TOKEN"');
  if (call.body !== undefined) {
    parts.push("-H 'Content-Type: application/json'");
    parts.push(`-d ${shellWord(JSON.stringify(call.body, null, 2))}`);
  }
  return parts.join(" \\\n  ");
}

/** A part of a file of the registry. */
import { t } from "@lingui/core/macro";
import { ApiProblem } from "@/api/problem";
import { readFailure } from "./preview";

/** Bytes from `start` to before `end`; rejects with a problem that says what the failure means. */
export async function readRange(
  url: string,
  path: string,
  [start, end]: readonly [number, number],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetch(url, {
    credentials: "same-origin",
    headers: { Range: `bytes=${start}-${end - 1}` },
    signal,
  });
  if (!response.ok) {
    const detail = readFailure(response.status, path);
    throw new ApiProblem({ title: t`The file could not be read`, code: "FileUnreadable", detail }, response.status);
  }
  return new Uint8Array(await response.arrayBuffer());
}

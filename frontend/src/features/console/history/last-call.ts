/** The console's last call as something to write programs of. Pure. */
import type { LastCall } from "@/inference/last-call";
import type { CallRecord } from "../results/outcome";

/** The newest comes first in a history. */
export function lastCall(history: readonly CallRecord[]): LastCall | null {
  const newest = history[0];
  if (newest === undefined) return null;
  const { deployment, model, options, parameters, sent, outcome, parts, at } = newest;
  const answered = outcome?.kind === "result" ? outcome : null;
  const outputs = [...(answered?.outputs ?? []), ...parts.flatMap((part) => part.outputs)].map((output) => output.name);
  return {
    call: {
      deployment,
      model,
      version: options.version,
      decoupled: parts.length > 0 || (answered !== null && answered.responses !== null),
      parameters,
      outputs: [...new Set(outputs)],
    },
    inputs: sent,
    at,
  };
}

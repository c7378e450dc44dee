/** What is said of a request: its status, and the stretches of its way. */
import { t } from "@lingui/core/macro";
import type { ModelSpan, RequestBar, RequestStory, SeenRequest } from "@/api/types";

/** Characters of an id where it is one of many. */
export const SHORT = 8;
export const VIEWS = [
  { value: "newest", label: t`Newest` },
  { value: "slowest", label: t`Slowest` },
  { value: "failed", label: t`Failed` },
] as const;
export type RequestView = (typeof VIEWS)[number]["value"];

/** gRPC's own where it is no success, which HTTP does not tell. */
export function statusText(request: SeenRequest): string {
  if (request.grpc_status) return t`gRPC ${request.grpc_status}`;
  return request.status === 0 ? t`client gone` : String(request.status);
}

/** Null where none was asked: the time until the answer is the gateway's own then. */
export const inReplicaUs = (request: SeenRequest): number | null => (request.host ? request.replica_us : null);

/** Of several with one id the one that was opened. */
export function storyOf(stories: readonly RequestStory[] | undefined, request: SeenRequest): RequestStory | undefined {
  return stories?.find((story) => story.seen?.at === request.at) ?? stories?.[0];
}

const LABELS: Record<Exclude<RequestBar["what"], "model">, string> = {
  receive: t`Client sends`,
  inside: t`Gateway, network and replica`,
  send: t`Client takes the answer`,
  accept: t`Decode`,
  queue: t`Queue`,
  input: t`Make the batch`,
  infer: t`Compute`,
  output: t`Split the batch`,
  answer: t`Answer`,
};
/** By what a model came to be executed; the first of a request by nothing. */
function titleOf({ via, model, version }: ModelSpan): string {
  if (via === "step") return t`Step ${model}, version ${version}`;
  return via === "call" ? t`Call of ${model}, version ${version}` : t`${model}, version ${version}`;
}

export interface Row {
  label: string;
  /** Who shared its batch, and how it failed. */
  note: string;
  depth: number;
  us: number;
  /** Shares of the whole. */
  begin: number;
  width: number;
  leaf: boolean;
  slow: boolean;
}

function noteOf(span: ModelSpan | undefined): string {
  if (!span) return "";
  return [span.batch > 1 ? t`in a batch of ${span.batch} requests` : "", span.error].filter(Boolean).join(", ");
}

export function rowsOf(bars: readonly RequestBar[], spans: readonly ModelSpan[]): Row[] {
  const whole = Math.max(...bars.map((bar) => bar.start_us + bar.took_us), 0) || 1;
  return bars.map((bar) => {
    const span = bar.what === "model" && bar.span !== null ? spans[bar.span] : undefined;
    return {
      label: bar.what === "model" ? (span ? titleOf(span) : t`Model`) : LABELS[bar.what],
      note: noteOf(span),
      depth: bar.depth,
      us: bar.took_us,
      begin: Math.min(1, bar.start_us / whole),
      width: Math.min(bar.took_us / whole, 1 - Math.min(1, bar.start_us / whole)),
      leaf: bar.leaf,
      slow: bar.slow,
    };
  });
}

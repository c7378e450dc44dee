/** What is said of a request: its status, and the stretches of its way. */
import type { ModelSpan, RequestBar, RequestStory, SeenRequest } from "@/api/types";

/** Characters of an id where it is one of many. */
export const SHORT = 8;
export const VIEWS = [
  { value: "newest", label: "Newest" },
  { value: "slowest", label: "Slowest" },
  { value: "failed", label: "Failed" },
] as const;
export type RequestView = (typeof VIEWS)[number]["value"];

/** gRPC's own where it is no success, which HTTP does not tell. */
export function statusText(request: SeenRequest): string {
  if (request.grpc_status) return `gRPC ${request.grpc_status}`;
  return request.status === 0 ? "client gone" : String(request.status);
}

/** Of several with one id the one that was opened. */
export function storyOf(stories: readonly RequestStory[] | undefined, request: SeenRequest): RequestStory | undefined {
  return stories?.find((story) => story.seen?.at === request.at) ?? stories?.[0];
}

const LABELS: Record<Exclude<RequestBar["what"], "model">, string> = {
  receive: "Client sends",
  inside: "Gateway, network and replica",
  send: "Client takes the answer",
  accept: "Decode",
  queue: "Queue",
  input: "Make the batch",
  infer: "Compute",
  output: "Split the batch",
  answer: "Answer",
};
const VIA: Record<string, string> = { step: "Step ", call: "Call of " };

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
  return [span.batch > 1 ? `in a batch of ${span.batch} requests` : "", span.error].filter(Boolean).join(", ");
}

export function rowsOf(bars: readonly RequestBar[], spans: readonly ModelSpan[]): Row[] {
  const whole = Math.max(...bars.map((bar) => bar.start_us + bar.took_us), 0) || 1;
  return bars.map((bar) => {
    const span = bar.what === "model" && bar.span !== null ? spans[bar.span] : undefined;
    return {
      label: bar.what === "model" ? (span ? `${VIA[span.via] ?? ""}${span.model}, version ${span.version}` : "Model") : LABELS[bar.what],
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

/** What is said of a request: its status, and the stretches of its way. */
import type { SeenRequest } from "@/api/types";

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

export interface Way {
  label: string;
  us: number;
}

export function waysOf(request: SeenRequest): Way[] {
  return [
    { label: "Client sends", us: request.receive_us },
    { label: "Gateway, network and replica", us: request.replica_us ?? 0 },
    { label: "Client takes the answer", us: request.send_us },
  ];
}

/** What travels over the console's socket, and what became of a call. */
import type { WireData } from "../tensor/raw-bytes";

interface WireInput {
  name: string;
  datatype: string;
  shape: number[];
  data: WireData;
}

export type Parameters = Record<string, string | number | boolean>;

export interface InferCall {
  model: string;
  deployment?: string;
  version?: string;
  inputs: WireInput[];
  protocol: "http" | "grpc";
  parameters?: Parameters;
}

/** What one call may hold. */
export interface Limits {
  request_chars: number;
  binary_bytes: number;
}

export interface OutputStats {
  min: number | null;
  max: number | null;
  mean: number | null;
  nan: number;
  infinite: number;
}

export interface WireOutput {
  name: string;
  datatype: string;
  shape: number[];
  data: (number | string | boolean | null)[];
  truncated: boolean;
  /** The bytes in base64, where values were left out or texts are not UTF-8. */
  raw?: string | null;
  stats: OutputStats | null;
}

/** Microseconds; null where it was not measured. */
export interface Timing {
  total_us: number | null;
  /** Of streams: until the first response. */
  first_us?: number | null;
  gateway_us: number | null;
  queue_us: number | null;
  compute_input_us: number | null;
  compute_infer_us: number | null;
  compute_output_us: number | null;
}

/** One response of a model that answers several times. */
export interface StreamPart {
  index: number;
  /** Microseconds after the call was sent. */
  atUs: number;
  outputs: WireOutput[];
}

export type Outcome =
  | {
      kind: "result";
      /** Empty for streams, whose outputs came as parts. */
      outputs: WireOutput[];
      /** How many responses a stream had; null for calls with one answer. */
      responses: number | null;
      timing: Timing;
      modelVersion: string;
      deployment: string;
      roundTripUs: number;
    }
  | { kind: "error"; code: string; message: string; triton: string | null; status: number | null }
  /** Stopped by the person. */
  | { kind: "cancelled" }
  /** The line broke after the server had taken the call: whether it ran is not known. */
  | { kind: "lost"; sent: boolean };

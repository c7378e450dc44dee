/** One request with made-up data over the console's socket: whether the new deployment answers, and what. */
import { t } from "@lingui/core/macro";
import type { Tensor } from "@/api/types";

export interface SampleModel {
  name: string;
  max_batch_size: number;
  inputs: Tensor[];
}

export interface SampleOutput {
  name: string;
  datatype: string;
  shape: number[];
  data: (number | string | boolean | null)[];
}

export interface SampleAnswer {
  model: string;
  outputs: SampleOutput[];
  totalUs: number | null;
}

/** What was wrong, in the server's words where it had some. */
export class SampleFailed extends Error {
  constructor(
    message: string,
    readonly triton = "",
  ) {
    super(message);
  }
}

/** Beyond this, values are not worth writing out as text. */
const MOST_VALUES = 2_000_000;

type Values = (number | string | boolean)[];

function valuesOf(datatype: string, count: number, random: () => number): Values {
  const one = (): number | string | boolean => {
    if (datatype === "BYTES" || datatype === "STRING") return "text";
    if (datatype === "BOOL") return random() < 0.5;
    return /^(FP|BF)/.test(datatype) ? Math.round(random() * 1e4) / 1e4 : 1;
  };
  return Array.from({ length: count }, one);
}

/** A whole HTTP request, which the columns of a model of MLflow stand for. */
const OF_SCRIPTS = new Set(["REQUEST", "REQUEST_HEAD"]);

/** Inputs that fit: unknown axes are 1, numbers are random, a batch of one. */
export function sampleInputs(model: SampleModel, random: () => number) {
  const required = model.inputs.filter((input) => !input.optional);
  return (required.length > 0 ? required : model.inputs.filter((input) => !OF_SCRIPTS.has(input.name))).map((input) => {
    const item = input.shape.map((axis) => (Number(axis) > 0 ? Number(axis) : 1));
    const shape = model.max_batch_size > 0 ? [1, ...item] : item;
    const count = shape.reduce((product, axis) => product * axis, 1);
    if (count > MOST_VALUES) throw new SampleFailed(t`${input.name} has ${count} values: too many to make up here.`);
    const datatype = input.datatype === "STRING" ? "BYTES" : input.datatype;
    return { name: input.name, datatype, shape, data: valuesOf(datatype, count, random) };
  });
}

export interface Socket {
  send: (text: string) => void;
  close: () => void;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  onopen: ((event: Event) => void) | null;
}

export interface SampleOptions {
  connect: () => Socket;
  deployment: string;
  /** The model that clients name; the first one otherwise. */
  model: string;
  random: () => number;
  timeoutMs?: number;
}

interface Frame {
  type: string;
  models?: SampleModel[];
  outputs?: SampleOutput[];
  timing?: { total_us: number | null };
  message?: string;
  triton?: string | null;
}

/** Connects, asks what the model takes, sends once, and closes. Rejects with SampleFailed. */
export function sendSample({ connect, deployment, model, random, timeoutMs = 60_000 }: SampleOptions): Promise<SampleAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect();
    let name = model;
    const fail = (error: unknown) => {
      end();
      reject(error instanceof Error ? error : new SampleFailed(String(error)));
    };
    const timer = setTimeout(() => fail(new SampleFailed(t`No answer in ${timeoutMs / 1000} s.`)), timeoutMs);
    const end = () => {
      clearTimeout(timer);
      socket.onclose = null;
      socket.onmessage = null;
      socket.close();
    };
    const act = (frame: Frame) => {
      if (frame.type === "metadata") {
        const chosen = frame.models?.find((one) => one.name === model) ?? frame.models?.[0];
        if (!chosen) throw new SampleFailed(t`The deployment serves no model.`);
        name = chosen.name;
        socket.send(
          JSON.stringify({ op: "infer", id: "sample", deployment, model: name, protocol: "http", inputs: sampleInputs(chosen, random) }),
        );
      } else if (frame.type === "result" || frame.type === "response") {
        end();
        resolve({ model: name, outputs: frame.outputs ?? [], totalUs: frame.timing?.total_us ?? null });
      } else if (frame.type === "error") throw new SampleFailed(frame.message ?? t`It failed.`, frame.triton ?? "");
    };
    socket.onopen = () => socket.send(JSON.stringify({ op: "metadata", deployment }));
    socket.onmessage = ({ data }) => {
      try {
        if (typeof data === "string") act(JSON.parse(data) as Frame);
      } catch (error) {
        fail(error);
      }
    };
    socket.onclose = () => fail(new SampleFailed(t`The connection was lost.`));
  });
}

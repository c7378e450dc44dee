import { describe, expect, it } from "vitest";
import { SampleFailed, sampleInputs, sendSample, type Socket } from "./sample-call";

const half = () => 0.5;
const tensor = (name: string, datatype: string, shape: number[], optional = false) => ({ name, datatype, shape, optional });

describe("made-up inputs", () => {
  it("fit the model: batch of one, unknown axes of one, optional ones left out", () => {
    const inputs = [tensor("x", "FP32", [2]), tensor("n", "INT64", [-1]), tensor("t", "STRING", [1]), tensor("o", "BOOL", [1], true)];
    expect(sampleInputs({ name: "m", max_batch_size: 8, inputs }, half)).toEqual([
      { name: "x", datatype: "FP32", shape: [1, 2], data: [0.5, 0.5] },
      { name: "n", datatype: "INT64", shape: [1, 1], data: [1] },
      { name: "t", datatype: "BYTES", shape: [1, 1], data: ["text"] },
    ]);
  });
  it("have no batch axis where the model does not batch", () =>
    expect(sampleInputs({ name: "m", max_batch_size: 0, inputs: [tensor("x", "FP32", [2])] }, half)[0]?.shape).toEqual([2]));
  it("are the columns of a signature where nothing is required", () => {
    const inputs = [tensor("REQUEST", "BYTES", [1], true), tensor("REQUEST_HEAD", "BYTES", [1], true), tensor("age", "INT64", [-1], true)];
    expect(sampleInputs({ name: "m", max_batch_size: 0, inputs }, half)).toEqual([
      { name: "age", datatype: "INT64", shape: [1], data: [1] },
    ]);
  });
  it("are not made when they would be huge", () =>
    expect(() => sampleInputs({ name: "m", max_batch_size: 0, inputs: [tensor("x", "FP32", [4000, 4000])] }, half)).toThrow(SampleFailed));
});

/** A server that answers each text that is sent. */
function server(answers: (sent: { op: string; model?: string; deployment: string }) => object | null) {
  const sent: object[] = [];
  const socket: Socket & { closed: boolean } = {
    closed: false,
    onmessage: null,
    onclose: null,
    onopen: null,
    close: () => (socket.closed = true),
    send: (text) => {
      const request = JSON.parse(text);
      sent.push(request);
      const frame = answers(request);
      if (frame) queueMicrotask(() => socket.onmessage?.({ data: JSON.stringify(frame) } as MessageEvent));
      else queueMicrotask(() => socket.onclose?.({} as CloseEvent));
    },
  };
  queueMicrotask(() => socket.onopen?.({} as Event));
  return { socket, sent };
}

const options = { deployment: "green", model: "b", random: half };
const MODELS = ["a", "b"].map((name) => ({ name, max_batch_size: 0, inputs: [tensor("x", "FP32", [1])] }));

describe("one request", () => {
  it("asks, sends, answers and hangs up", async () => {
    const outputs = [{ name: "y", datatype: "FP32", shape: [1], data: [3] }];
    const { socket, sent } = server(({ op }) =>
      op === "metadata" ? { type: "metadata", models: MODELS } : { type: "result", outputs, timing: { total_us: 900 } },
    );
    expect(await sendSample({ ...options, connect: () => socket })).toEqual({ model: "b", outputs, totalUs: 900 });
    expect(sent).toMatchObject([
      { op: "metadata", deployment: "green" },
      { op: "infer", model: "b", deployment: "green", inputs: [{ name: "x", data: [0.5] }] },
    ]);
    expect(socket.closed).toBe(true);
  });
  it("passes on what the server said", async () => {
    const { socket } = server(({ op }) =>
      op === "metadata" ? { type: "metadata", models: MODELS } : { type: "error", message: "It failed.", triton: "shape mismatch" },
    );
    await expect(sendSample({ ...options, connect: () => socket })).rejects.toMatchObject({ triton: "shape mismatch" });
  });
  it("says when the line breaks, and when nothing comes", async () => {
    await expect(sendSample({ ...options, connect: () => server(() => null).socket })).rejects.toThrow("lost");
    const silent = server(() => ({ type: "accepted" })).socket;
    await expect(sendSample({ ...options, connect: () => silent, timeoutMs: 5 })).rejects.toThrow("No answer");
  });
});

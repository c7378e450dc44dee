import { describe, expect, it } from "vitest";
import { IDLE_UPLOAD, percentOf, uploadReducer, type UploadEvent, type UploadView } from "./upload-machine";
import { rateOf, secondsLeft } from "./transfer-rate";

function after(...events: UploadEvent[]): UploadView {
  return events.reduce(uploadReducer, IDLE_UPLOAD);
}

const CHOSEN: UploadEvent = { type: "chosen", filename: "m.onnx", size: 1000 };
const CREATED: UploadEvent = { type: "created", uploadId: "u1", offset: 0 };

describe("uploadReducer", () => {
  it("walks from choosing to done", () => {
    const view = after(CHOSEN, CREATED, { type: "chunk-stored", offset: 1000, at: 5 }, { type: "finishing" }, { type: "done" });
    expect(view).toMatchObject({ phase: "done", uploadId: "u1", offset: 1000, failure: null });
  });

  it("counts bytes on the wire, and gives them back when the chunk fails", () => {
    const sending = after(CHOSEN, CREATED, { type: "chunk-stored", offset: 400, at: 1 }, { type: "progress", inFlight: 200, at: 2 });
    expect(percentOf(sending)).toBe(60);
    const waiting = uploadReducer(sending, { type: "chunk-failed", retryAt: 900 });
    expect(waiting).toMatchObject({ phase: "waiting", attempt: 1, retryAt: 900, inFlight: 0 });
    expect(percentOf(waiting)).toBe(40);
    const resumed = uploadReducer(waiting, { type: "resumed", offset: 500, at: 10 });
    expect(resumed).toMatchObject({ phase: "sending", offset: 500, attempt: 1 });
    expect(uploadReducer(resumed, { type: "chunk-stored", offset: 700, at: 11 }).attempt).toBe(0);
  });

  it("does not come back from cancel or failure by a late answer", () => {
    const canceled = after(CHOSEN, CREATED, { type: "canceled" });
    expect(uploadReducer(canceled, { type: "chunk-stored", offset: 10, at: 1 })).toBe(canceled);
    const failed = after(CHOSEN, { type: "failed", failure: { title: "no", detail: null, hints: [] } });
    expect(uploadReducer(failed, { type: "done" })).toBe(failed);
    expect(uploadReducer(failed, CHOSEN)).toMatchObject({ phase: "starting", failure: null });
  });
});

describe("transfer rate", () => {
  it("speaks only of the last seconds", () => {
    let view = after(CHOSEN, CREATED);
    for (let at = 0; at <= 10_000; at += 1000) {
      view = uploadReducer(view, { type: "progress", inFlight: at < 5000 ? 0 : (at - 5000) / 10, at });
    }
    expect(rateOf(view.samples)).toBeCloseTo(100);
    expect(secondsLeft(view.samples, 1000)).toBeCloseTo(5);
  });

  it("says nothing too early or when nothing moves", () => {
    expect(rateOf([{ at: 0, bytes: 0 }])).toBeNull();
    expect(
      secondsLeft(
        [
          { at: 0, bytes: 5 },
          { at: 1000, bytes: 5 },
        ],
        10,
      ),
    ).toBeNull();
  });
});

import { expect, test } from "vitest";
import type { ErrorDetail, Upload } from "@/api/types";
import { errorsOf } from "./source";

const PATH = "cat/1/model.onnx is not an ONNX file: it has no graph";
const error = (message: string, detail = ""): ErrorDetail => ({ code: "NotAnOnnxFile", message, detail, hints: [] });

/** An upload with its error, and with what the inspection found. */
const failed = (own: ErrorDetail, ...found: ErrorDetail[]) =>
  ({ error: own, inspection: { problems: found.map((one) => ({ ...one, severity: "error", scope: "load" })) } }) as unknown as Upload;

const told = (upload: Upload) => errorsOf(upload).map(({ message, detail }) => [message, detail]);

test("a reason that is in the message is not told again below it", () => {
  expect(told(failed(error(PATH, "it has no graph")))).toEqual([[PATH, ""]]);
});

test("what the inspection found is told once: in plain words, with its own below them", () => {
  const plain = error("This is a picture, not a model.", `${PATH}\nit has no graph`);
  expect(told(failed(plain, error(PATH, "it has no graph")))).toEqual([["This is a picture, not a model.", `${PATH}\nit has no graph`]]);
  expect(told(failed(error(PATH), error(PATH, "it has no graph")))).toEqual([[PATH, ""]]);
});

test("what else was found is told, too", () => {
  const other = error("dog/1/model.onnx does not exist");
  expect(told(failed(error(PATH), error(PATH), other))).toEqual([
    [PATH, ""],
    ["dog/1/model.onnx does not exist", ""],
  ]);
});

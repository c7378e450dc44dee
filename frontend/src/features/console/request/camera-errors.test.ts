import { expect, it } from "vitest";
import { cameraError } from "./camera-errors";

it.each<[unknown, RegExp]>([
  [new DOMException("denied", "NotAllowedError"), /refused.*Allow it/],
  [new DOMException("", "NotFoundError"), /no camera/],
  [new DOMException("", "NotReadableError"), /in use/],
  [new TypeError("bad constraints"), /could not be opened: bad constraints\.$/],
  ["nonsense", /could not be opened\.$/],
])("%s", (error, words) => expect(cameraError(error)).toMatch(words));

import { expect, it } from "vitest";
import { cameraWords } from "./camera-words";

it.each<[unknown, RegExp]>([
  [new DOMException("denied", "NotAllowedError"), /refused.*Allow it/],
  [new DOMException("", "NotFoundError"), /no camera/],
  [new DOMException("", "NotReadableError"), /in use/],
  [new TypeError("bad constraints"), /could not be opened: bad constraints\.$/],
  ["nonsense", /could not be opened\.$/],
])("%s", (error, words) => expect(cameraWords(error)).toMatch(words));

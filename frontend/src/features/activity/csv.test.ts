import { describe, expect, it } from "vitest";
import type { EventItem } from "@/api/types";
import { csvCell, eventsCsv } from "./csv";

describe("CSV", () => {
  it.each([
    ["plain", "plain"],
    ['say "hi", twice', '"say ""hi"", twice"'],
    ["two\nlines", '"two\nlines"'],
    ["=1+1", "'=1+1"],
    ["-5", "-5"],
    ["@cmd", "'@cmd"],
    [12, "12"],
    [null, ""],
    [{ a: 1 }, '"{""a"":1}"'],
  ])("%j", (value, cell) => expect(csvCell(value)).toBe(cell));
  it("has a heading and ends each row", () => {
    const event: EventItem = {
      seq: 3,
      at: "2026-01-01T00:00:00Z",
      severity: "info",
      actor: "ada",
      verb: "x.y",
      subject: "s",
      message: "m, n",
      data: {},
      link: null,
      digest: "",
    };
    expect(eventsCsv([event])).toBe(
      'seq,at,severity,actor,verb,subject,message,data\r\n3,2026-01-01T00:00:00Z,info,ada,x.y,s,"m, n",{}\r\n',
    );
  });
});

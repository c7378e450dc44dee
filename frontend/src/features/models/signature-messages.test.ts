import { describe, expect, test } from "vitest";
import type { Signatures } from "@/api/types";
import { signatureMessage } from "./signature-messages";

const found = (changes: Partial<Signatures> = {}): Signatures => ({
  model: "digits",
  version: 3,
  config_revision: 0,
  digest: "0".repeat(64),
  statement: "",
  required: false,
  signed: false,
  items: [],
  ...changes,
});

describe("a version's signatures", () => {
  test("signed is all there is to say", () => {
    const words = signatureMessage(found({ signed: true, required: true }));
    expect(words).toMatchObject({ tone: "ok", title: "Signed", command: null });
  });

  test("unsigned matters only where the installation asks for it", () => {
    expect(signatureMessage(found()).tone).toBe("idle");
    const words = signatureMessage(found({ required: true }));
    expect(words.tone).toBe("warn");
    expect(words.text).toContain("cannot be deployed");
  });

  test("the command names what would run, edited configuration included", () => {
    const words = signatureMessage(found({ config_revision: 2 }));
    expect(words.text).toContain("configuration revision 2");
    expect(words.command).toBe("shoal model sign --name digits --version 3 --config-revision 2 --key FILE");
  });
});

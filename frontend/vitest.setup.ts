import { startLanguage } from "@/i18n/language";

/** A page resolves paths against its own address; Node has none. */
globalThis.Request = class extends Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === "string" ? new URL(input, "http://shoal.test") : input, init);
  }
};

await startLanguage("en");

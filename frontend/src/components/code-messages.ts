/** What is said of a model that runs code: the state of the server's policy, in sentences. */
import { t } from "@lingui/core/macro";
import type { Code } from "@/api/types";

type CodeTone = "ok" | "warn" | "error";

export interface CodeMessage {
  tone: CodeTone;
  title: string;
  text: string;
}

export interface CodeReader {
  /** Whether whoever reads this holds `code:upload`; undefined while the session is being read. */
  may: boolean | undefined;
  /** A version exists that can be approved; before that, registering it is the next step. */
  registered: boolean;
}

/** Null for what brings no code. */
export function codeMessage(code: Code, { may, registered }: CodeReader): CodeMessage | null {
  switch (code.state) {
    case "none":
      return null;
    case "allowed":
      return {
        tone: "ok",
        title: t`Runs code`,
        text: code.approved_by ? t`Approved by ${code.approved_by}.` : t`This installation lets models run code.`,
      };
    case "refused":
      return {
        tone: "error",
        title: t`Runs code, which this installation refuses`,
        text: t`It cannot be registered or deployed here. Export the model to a format without code, such as ONNX.`,
      };
    case "waiting":
      return waiting(may, registered);
  }
}

function waiting(may: boolean | undefined, registered: boolean): CodeMessage {
  if (registered) {
    return {
      tone: "warn",
      title: t`Runs code, waits for approval`,
      text: may
        ? t`It runs on the nodes. Look at its files, then approve it.`
        : t`It is registered and cannot be deployed yet. Somebody with the role admin has to approve it.`,
    };
  }
  return may
    ? { tone: "ok", title: t`Runs code`, text: t`You may bring code: it runs as soon as you deploy it.` }
    : {
        tone: "warn",
        title: t`Runs code`,
        text: t`Deploying registers it; it runs once somebody with the role admin has approved it. Nothing has to be sent again.`,
      };
}

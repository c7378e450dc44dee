/** A program that makes the console's last call; loaded when it is asked for, for it brings the tensors along. */
import type { Endpoint } from "@/api/types";
import { CodeView } from "@/inference/code/code-view";
import type { Language } from "@/inference/code/snippets";
import type { LastCall } from "@/inference/last-call";

export default function LastInput({ endpoint, last, language }: { endpoint: Endpoint; last: LastCall; language: Language }) {
  return <CodeView endpoint={endpoint} call={last.call} inputs={last.inputs} problem={null} language={language} />;
}

/** Where the thing that an event is about is shown. */
import type { LinkProps } from "@tanstack/react-router";
import { paths } from "@/app/paths";

/** `endpoint/digits` → its page; null when it has none of its own. */
export function subjectLink(subject: string): LinkProps | null {
  const slash = subject.indexOf("/");
  const kind = slash < 0 ? subject : subject.slice(0, slash);
  const name = slash < 0 ? "" : subject.slice(slash + 1);
  if (!name) return null;
  if (kind === "endpoint") return paths.endpoint(name);
  if (kind === "model") return paths.model(name);
  if (kind === "node") return paths.node(name);
  if (kind === "operation") return paths.operation(name);
  return null;
}

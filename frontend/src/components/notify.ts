/** Short messages in the corner: what was done, and what failed. The bell keeps them (`messages.ts`). */
import { t } from "@lingui/core/macro";
import type { LinkProps } from "@tanstack/react-router";
import { problemText } from "@/api/problem";
import { messages } from "./messages";

// why loaded when it is needed: messages come after a click, the first page must not wait for them.
const corner = () => import("@mantine/notifications");

const CLOSE = { "aria-label": t`Close this message` };

/** What one did oneself just now: nobody needs to be told twice. */
export function notifyDone(message: string): void {
  messages.add({ tone: "ok", title: message, read: true });
  void corner().then(({ notifications }) =>
    notifications.show({ message, color: "teal", role: "status", withBorder: true, closeButtonProps: CLOSE }),
  );
}

/** Something that went on by itself has ended well: it counts at the bell until it is read. */
export function notifyNews(message: string, link: LinkProps): void {
  const id = messages.add({ tone: "ok", title: message, link, read: false });
  void corner().then(({ notifications }) =>
    notifications.show({
      message,
      color: "teal",
      role: "status",
      withBorder: true,
      closeButtonProps: { ...CLOSE, onClick: () => messages.read(id) },
    }),
  );
}

/** Failures stay until they are closed. */
export function notifyProblem(error: unknown, title: string, link?: LinkProps): void {
  const message = problemText(error);
  const id = messages.add({ tone: "error", title, detail: message, read: false, ...(link ? { link } : {}) });
  void corner().then(({ notifications }) =>
    notifications.show({
      title,
      message,
      color: "red",
      role: "alert",
      withBorder: true,
      autoClose: false,
      closeButtonProps: CLOSE,
      onClose: () => messages.read(id),
    }),
  );
}

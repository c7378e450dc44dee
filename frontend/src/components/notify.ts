/** Short messages in the corner: what was done, and what failed. */
import { problemText } from "@/api/problem";

// why loaded when it is needed: messages come after a click, the first page must not wait for them.
const corner = () => import("@mantine/notifications");

const CLOSE = { "aria-label": "Close this message" };

export function notifyDone(message: string): void {
  void corner().then(({ notifications }) => notifications.show({ message, color: "teal", withBorder: true, closeButtonProps: CLOSE }));
}

/** Failures stay until they are closed. */
export function notifyProblem(error: unknown, title: string): void {
  const message = problemText(error);
  void corner().then(({ notifications }) =>
    notifications.show({ title, message, color: "red", withBorder: true, autoClose: false, closeButtonProps: CLOSE }),
  );
}

/** Short messages in the corner: what was done, and what failed. */
import { notifications } from "@mantine/notifications";
import { problemText } from "@/api/problem";

export function notifyDone(message: string): void {
  notifications.show({ message, color: "teal", withBorder: true });
}

/** Failures stay until they are closed. */
export function notifyProblem(error: unknown, title: string): void {
  notifications.show({ title, message: problemText(error), color: "red", withBorder: true, autoClose: false });
}

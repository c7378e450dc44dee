/** The corner where messages appear; loaded after the first page, as is what fills it. */
import { Notifications } from "@mantine/notifications";

export default function NotificationCorner() {
  return <Notifications position="bottom-right" limit={4} autoClose={5000} />;
}

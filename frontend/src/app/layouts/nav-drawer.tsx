/** The side bar of narrow screens; loaded when it is first opened. */
import { t } from "@lingui/core/macro";
import { Drawer } from "@mantine/core";
import { Sidebar } from "./sidebar";

// why the header too: see the theme, whose attributes these replace.
const NAMED = { header: { role: "none" }, content: { "aria-label": t`Navigation` } };

export default function NavDrawer({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Drawer opened={opened} onClose={onClose} size={230} padding={0} withCloseButton={false} title={null} attributes={NAMED}>
      <Sidebar onGo={onClose} />
    </Drawer>
  );
}

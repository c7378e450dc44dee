/** The side bar of narrow screens; loaded when it is first opened. */
import { Drawer } from "@mantine/core";
import { Sidebar } from "./sidebar";

export default function NavDrawer({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Drawer opened={opened} onClose={onClose} size={230} padding={0} withCloseButton={false} title={null}>
      <Sidebar onGo={onClose} />
    </Drawer>
  );
}

/** The top bar: where one is, search, the live link, theme and account. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";
import { IconDeviceDesktop, IconLogout, IconMenu2, IconMoon, IconSearch, IconSun, IconUserCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { sessionQuery } from "@/api/session";
import { paths } from "@/app/paths";
import { COMMAND_KEY } from "@/components/command-key";
import { Breadcrumbs } from "./breadcrumbs";
import { LivePill } from "./live-pill";
import { MessageBell } from "./message-bell";
import { OperationsTray } from "./operations-tray";
import classes from "./shell.module.css";
import { palette } from "./toggles";
import { useLeave } from "./use-leave";

function ThemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = colorScheme === "light" ? IconSun : colorScheme === "dark" ? IconMoon : IconDeviceDesktop;
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t`Theme: ${colorScheme}`} title={t`Theme`} className={classes["theme"] ?? ""}>
          <Icon size={18} stroke={1.7} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconSun size={16} />} onClick={() => setColorScheme("light")}>
          <Trans>Light</Trans>
        </Menu.Item>
        <Menu.Item leftSection={<IconMoon size={16} />} onClick={() => setColorScheme("dark")}>
          <Trans>Dark</Trans>
        </Menu.Item>
        <Menu.Item leftSection={<IconDeviceDesktop size={16} />} onClick={() => setColorScheme("auto")}>
          <Trans>As the system</Trans>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function AccountMenu() {
  const navigate = useNavigate();
  const leave = useLeave();
  const { data } = useQuery(sessionQuery());
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t`Account`} title={t`Account`}>
          <IconUserCircle size={19} stroke={1.7} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{data?.user ? `${data.user.username}, ${data.user.role}` : t`Not signed in`}</Menu.Label>
        <Menu.Item leftSection={<IconUserCircle size={16} />} onClick={() => void navigate(paths.settings())}>
          <Trans>Profile</Trans>
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void leave()}>
          <Trans>Sign out</Trans>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export function Topbar({ onMenu }: { onMenu: () => void }) {
  return (
    <header className={classes["topbar"]}>
      <ActionIcon className={classes["menuButton"]} onClick={onMenu} aria-label={t`Open the navigation`}>
        <IconMenu2 size={18} />
      </ActionIcon>
      <Breadcrumbs />
      <div className={classes["topActions"]}>
        <button type="button" className={classes["search"]} onClick={palette.open} aria-label={t`Search or jump to ${COMMAND_KEY} K`}>
          <IconSearch size={15} aria-hidden />
          <span className={classes["searchWords"]}>
            <Trans>Search or jump to</Trans>
          </span>{" "}
          <kbd className={classes["searchKey"]}>{COMMAND_KEY} K</kbd>
        </button>
        <LivePill />
        <OperationsTray />
        <MessageBell />
        <ThemeMenu />
        <AccountMenu />
      </div>
    </header>
  );
}

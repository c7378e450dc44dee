/** The bell: what was said in the corner, for whoever was looking elsewhere. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Popover } from "@mantine/core";
import { IconBell } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";
import { sessionQuery } from "@/api/session";
import { type Message, messages, unreadCount } from "@/components/messages";
import { ToneIcon } from "@/components/status";
import { Time } from "@/components/time";
import classes from "./operations-tray.module.css";

function Row({ message, onGo }: { message: Message; onGo: () => void }) {
  const body = (
    <>
      <span className={classes["title"]}>
        <ToneIcon tone={message.tone} label={message.tone === "error" ? t`Failed` : t`Done`} size={14} /> {message.title}
      </span>
      <span className="secondary">
        <Time at={message.at} />
      </span>
      {message.detail ? <span className={`secondary ${classes["wide"] ?? ""}`}>{message.detail}</span> : null}
    </>
  );
  return message.link ? (
    <Link {...message.link} className={classes["row"]} onClick={onGo}>
      {body}
    </Link>
  ) : (
    <div className={classes["row"]}>{body}</div>
  );
}

/** The list of whoever is signed in, as the windows of this browser have it. */
function useKeptMessages(): void {
  const user = useQuery(sessionQuery()).data?.user?.username;
  useEffect(() => {
    if (user !== undefined) messages.openFor(user);
  }, [user]);
  useEffect(() => {
    const onStorage = (event: StorageEvent) => messages.changedElsewhere(event.key, event.newValue);
    window.addEventListener("storage", onStorage);
    return () => window.removeEventListener("storage", onStorage);
  }, []);
}

export function MessageBell() {
  useKeptMessages();
  const list = useSyncExternalStore(messages.subscribe, messages.all);
  const [opened, setOpened] = useState(false);
  const unread = unreadCount(list);
  const words = unread === 0 ? t`Messages: none unread` : t`Messages: ${unread} unread`;
  const change = (open: boolean) => {
    setOpened(open);
    // why on closing: until then one sees which are new.
    if (!open) messages.read();
  };
  return (
    <Popover opened={opened} onChange={change} position="bottom-end" width={340} shadow="none" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon
          aria-label={words}
          title={words}
          aria-expanded={opened}
          onClick={() => change(!opened)}
          className={classes["button"] ?? ""}
        >
          <IconBell size={18} stroke={1.7} />
          {unread > 0 ? (
            <span className={classes["badge"]} aria-hidden>
              {unread}
            </span>
          ) : null}
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p={0}>
        <ul className={classes["list"]} aria-label={t`Messages`} tabIndex={0}>
          {list.map((message) => (
            <li key={message.id} data-unread={message.read ? undefined : ""}>
              <Row message={message} onGo={() => change(false)} />
            </li>
          ))}
          {list.length === 0 ? (
            <li className={classes["none"]}>
              <Trans>Nothing yet. What ends or fails while the studio is open is kept here.</Trans>
            </li>
          ) : null}
        </ul>
        {list.length > 0 ? (
          <div className={classes["all"]}>
            <Button variant="subtle" size="compact-sm" onClick={() => messages.clear()}>
              <Trans>Clear</Trans>
            </Button>
          </div>
        ) : null}
      </Popover.Dropdown>
    </Popover>
  );
}

/** The palette's signs. */
import {
  IconApi, IconArrowsDiff, IconArrowsRight, IconArrowsSplit, IconCopy, IconCube, IconFileText, IconHistory, IconKey, IconKeyboard, IconLogout,
  IconPlayerPause, IconPlayerPlay, IconPlus, IconRocket, IconRotate, IconServer2, IconServerOff, IconSettings, IconSunMoon, IconTerminal2,
  IconTrash, IconVersions, IconX,
} from "@tabler/icons-react";
import type { IconName } from "./items";

export const ICONS: Record<IconName, typeof IconApi> = {
  endpoint: IconApi,
  test: IconTerminal2,
  logs: IconFileText,
  model: IconCube,
  node: IconServer2,
  operation: IconHistory,
  deploy: IconRocket,
  join: IconPlus,
  theme: IconSunMoon,
  keyboard: IconKeyboard,
  copy: IconCopy,
  traffic: IconArrowsSplit,
  key: IconKey,
  restart: IconRotate,
  pause: IconPlayerPause,
  start: IconPlayerPlay,
  scale: IconArrowsDiff,
  update: IconVersions,
  delete: IconTrash,
  cordon: IconServerOff,
  drain: IconArrowsRight,
  cancel: IconX,
  settings: IconSettings,
  leave: IconLogout,
};

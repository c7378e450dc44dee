/** The key that goes with shortcuts: ⌘ on Apple's keyboards, Ctrl on all others. Either is heard everywhere (`ctrlKey || metaKey`). */
import { t } from "@lingui/core/macro";

// why the guard: unit tests run where there is no browser.
const platform = typeof navigator === "undefined" ? "" : navigator.platform;

export const COMMAND_KEY = /^(Mac|iP(hone|ad|od))/.test(platform) ? "⌘" : t`Ctrl`;

/** The studio's single socket, bound to the browser: address, visibility, network changes. */
import { LiveSocket } from "./socket";

export function socketUrl(path: string): string {
  const scheme = window.location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${window.location.host}${path}`;
}

let shared: LiveSocket | null = null;

export function live(): LiveSocket {
  if (shared) return shared;
  const socket = new LiveSocket({
    connect: () => new WebSocket(socketUrl("/ws/v1")),
    setTimer: (run, ms) => window.setTimeout(run, ms),
    clearTimer: (timer) => window.clearTimeout(timer as number),
    random: Math.random,
  });
  document.addEventListener("visibilitychange", () => socket.setHidden(document.hidden));
  window.addEventListener("online", () => socket.retryNow());
  shared = socket;
  return socket;
}

/** On signing out: the next session opens its own socket. */
export function closeLive(): void {
  shared?.close();
}

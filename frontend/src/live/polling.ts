/**
 * What stands in while the live link is down (a proxy that lets no socket through, a server that is restarting): asks over
 * HTTP every three seconds, and stops as soon as frames come again. Timers are passed in, as for the socket.
 */

export const POLL_MS = 3_000;
/** A link that comes back within this time needs no stand-in. */
export const GRACE_MS = 3_000;

export interface PollLink {
  isDown: boolean;
  onState: (listener: () => void) => () => void;
  setPolled: (polled: boolean) => void;
}

export interface PollDeps {
  setTimer: (run: () => void, ms: number) => unknown;
  clearTimer: (timer: unknown) => void;
}

/** Calls `ask` while the link is down. Answers the function that ends it. */
export function pollWhileDown(link: PollLink, ask: () => Promise<unknown>, { setTimer, clearTimer }: PollDeps): () => void {
  let timer: unknown = null;
  let ended = false;
  const stop = () => {
    if (timer !== null) clearTimer(timer);
    timer = null;
    link.setPolled(false);
  };
  const turn = async () => {
    timer = null;
    const came = await ask().then(
      () => true,
      () => false,
    );
    if (ended || !link.isDown) return;
    link.setPolled(came);
    timer = setTimer(() => void turn(), POLL_MS);
  };
  const look = () => {
    if (link.isDown) timer ??= setTimer(() => void turn(), GRACE_MS);
    else stop();
  };
  const leave = link.onState(look);
  look();
  return () => {
    ended = true;
    leave();
    stop();
  };
}

/** The console's socket for one endpoint, for as long as the page shows it, and what the endpoint takes. */
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import type { ConsoleModel } from "@/api/types";
import { socketUrl } from "@/live/live";
import { ConsoleSocket, type LinkState } from "./console-socket";

type Metadata =
  { state: "loading" } | { state: "ready"; models: ConsoleModel[]; mayInfer: boolean } | { state: "failed"; code: string; message: string };

const silent = () => () => undefined;

function connect(endpoint: string): ConsoleSocket {
  return new ConsoleSocket({
    connect: () => new WebSocket(socketUrl(`/ws/v1/console/${encodeURIComponent(endpoint)}`)),
    setTimer: (run, ms) => window.setTimeout(run, ms),
    clearTimer: (timer) => window.clearTimeout(timer as number),
    now: () => performance.now(),
    newId: () => `${performance.now().toString(36)}${Math.random().toString(36).slice(2)}`,
    random: Math.random,
  });
}

export interface ConsoleLink {
  socket: ConsoleSocket | null;
  link: LinkState;
  metadata: Metadata;
  reload: () => void;
}

export function useConsole(endpoint: string | null, deployment: string | null): ConsoleLink {
  const [socket, setSocket] = useState<ConsoleSocket | null>(null);
  const [metadata, setMetadata] = useState<Metadata>({ state: "loading" });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (endpoint === null) return undefined;
    const opened = connect(endpoint);
    setSocket(opened);
    return () => {
      opened.close();
      setSocket(null);
    };
  }, [endpoint]);
  const link = useSyncExternalStore<LinkState>(
    useCallback((listener) => socket?.onLink(listener) ?? silent(), [socket]),
    () => socket?.link ?? "connecting",
  );
  useEffect(() => {
    if (socket === null || link !== "open") return undefined;
    let wanted = true;
    setMetadata((old) => (old.state === "ready" ? old : { state: "loading" }));
    void socket.metadata(deployment).then((answer) => {
      if (!wanted || answer.kind === "lost") return;
      setMetadata(
        answer.kind === "metadata"
          ? { state: "ready", models: answer.models, mayInfer: answer.mayInfer }
          : { state: "failed", code: answer.code, message: answer.message },
      );
    });
    return () => {
      wanted = false;
    };
  }, [socket, link, deployment, tries]);
  const reload = useCallback(() => setTries((count) => count + 1), []);
  return { socket, link, metadata, reload };
}

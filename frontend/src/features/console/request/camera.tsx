/** One picture from the camera, asked for by a press. The stream ends as soon as the picture is taken or the person turns away. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconCamera } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import shared from "../console.module.css";
import classes from "./camera.module.css";
import { cameraError, NO_CAMERAS } from "./camera-errors";

type State = { kind: "off" } | { kind: "asking" } | { kind: "on"; stream: MediaStream } | { kind: "failed"; words: string };

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

export function Camera({ label, onPicture }: { label: string; onPicture: (bitmap: ImageBitmap) => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const gone = useRef(false);
  const [state, setState] = useState<State>({ kind: "off" });
  const stream = state.kind === "on" ? state.stream : null;
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  useEffect(() => {
    if (stream === null) return undefined;
    if (video.current) video.current.srcObject = stream;
    return () => stop(stream);
  }, [stream]);
  // Typed as always there, but pages of plain HTTP on other hosts have none.
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  const open = async () => {
    if (!devices) return;
    setState({ kind: "asking" });
    try {
      const opened = await devices.getUserMedia({ video: true });
      // The question may be answered long after the page was left.
      if (gone.current) stop(opened);
      else setState({ kind: "on", stream: opened });
    } catch (error) {
      setState({ kind: "failed", words: cameraError(error) });
    }
  };
  const take = async () => {
    if (!video.current) return;
    onPicture(await createImageBitmap(video.current));
    setState({ kind: "off" });
  };
  if (stream === null) {
    return (
      <>
        <Button
          variant="default"
          leftSection={<IconCamera size={15} aria-hidden />}
          loading={state.kind === "asking"}
          disabled={!devices}
          title={devices ? undefined : NO_CAMERAS}
          onClick={() => void open()}
        >
          <Trans>Camera</Trans>
        </Button>
        {state.kind === "failed" ? (
          <span className={shared["sentLine"]} data-tone="error" role="alert">
            {state.words}
          </span>
        ) : null}
      </>
    );
  }
  return (
    <div className={classes["camera"]}>
      <video ref={video} autoPlay muted playsInline aria-label={t`Camera for ${label}`} />
      <Button onClick={() => void take()}>
        <Trans>Take the picture</Trans>
      </Button>
      <Button variant="default" onClick={() => setState({ kind: "off" })}>
        <Trans>Cancel</Trans>
      </Button>
    </div>
  );
}

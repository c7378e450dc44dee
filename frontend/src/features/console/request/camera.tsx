/** One picture from the camera. The stream ends as soon as the picture is taken or the person turns away. */
import { Button } from "@mantine/core";
import { IconCamera } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import classes from "../console.module.css";

type State = { kind: "off" } | { kind: "on"; stream: MediaStream } | { kind: "failed"; words: string };

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

const words = (error: unknown): string =>
  error instanceof DOMException && error.name === "NotAllowedError"
    ? "The browser does not allow the camera on this page."
    : "No camera could be opened.";

export function Camera({ label, onPicture }: { label: string; onPicture: (bitmap: ImageBitmap) => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const [state, setState] = useState<State>({ kind: "off" });
  const stream = state.kind === "on" ? state.stream : null;
  useEffect(() => {
    if (stream === null) return undefined;
    if (video.current) video.current.srcObject = stream;
    return () => stop(stream);
  }, [stream]);
  // Pages of plain HTTP on other hosts have no cameras.
  if (typeof navigator === "undefined" || !navigator.mediaDevices) return null;
  const open = () =>
    navigator.mediaDevices.getUserMedia({ video: true }).then(
      (opened) => setState({ kind: "on", stream: opened }),
      (error: unknown) => setState({ kind: "failed", words: words(error) }),
    );
  const take = async () => {
    if (!video.current) return;
    onPicture(await createImageBitmap(video.current));
    setState({ kind: "off" });
  };
  if (stream === null) {
    return (
      <>
        <Button variant="default" leftSection={<IconCamera size={15} aria-hidden />} onClick={() => void open()}>
          Camera
        </Button>
        {state.kind === "failed" ? (
          <span className={classes["sentLine"]} data-tone="error" role="alert">
            {state.words}
          </span>
        ) : null}
      </>
    );
  }
  return (
    <div className={classes["camera"]}>
      <video ref={video} autoPlay muted playsInline aria-label={`Camera for ${label}`} />
      <Button onClick={() => void take()}>Take the picture</Button>
      <Button variant="default" onClick={() => setState({ kind: "off" })}>
        Cancel
      </Button>
    </div>
  );
}

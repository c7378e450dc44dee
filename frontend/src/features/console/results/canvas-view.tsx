/** Pixels on a canvas, small ones enlarged, with what lies under the pointer. */
import { t } from "@lingui/core/macro";
import { useEffect, useRef, useState } from "react";
import shared from "../console.module.css";
import classes from "./canvas-view.module.css";

export interface CanvasViewProps {
  label: string;
  width: number;
  height: number;
  pixels: Uint8ClampedArray<ArrayBuffer>;
  /** Words for a pixel. */
  tell?: (row: number, column: number) => string;
}

const WANTED_PX = 260;

export function CanvasView({ label, width, height, pixels, tell }: CanvasViewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [under, setUnder] = useState<string | null>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context && width > 0 && height > 0) context.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  const zoom = Math.max(1, Math.floor(WANTED_PX / Math.max(width, height)));
  return (
    <div>
      <canvas
        ref={canvas}
        className={classes["pixels"]}
        width={width}
        height={height}
        role="img"
        aria-label={label}
        style={{ width: width * zoom }}
        onPointerLeave={() => setUnder(null)}
        onPointerMove={(event) => {
          if (!tell) return;
          const box = event.currentTarget.getBoundingClientRect();
          const column = Math.floor(((event.clientX - box.left) / box.width) * width);
          const row = Math.floor(((event.clientY - box.top) / box.height) * height);
          if (row >= 0 && row < height && column >= 0 && column < width) setUnder(tell(row, column));
        }}
      />
      {tell ? <p className={shared["sentLine"]}>{under ?? t`Point at a value to read it.`}</p> : null}
    </div>
  );
}

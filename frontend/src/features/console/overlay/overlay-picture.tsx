/** A picture with a mask and boxes over it. */
import { useEffect, useRef, useState } from "react";
import { percent, fixed } from "@/components/format";
import classes from "./overlay-picture.module.css";
import type { Box } from "./box";
import { classColour, cssColour, inkOn } from "./colours";
import type { Frame } from "./sent-pictures";

interface Pixels {
  width: number;
  height: number;
  pixels: Uint8ClampedArray<ArrayBuffer>;
}

export interface OverlayPictureProps {
  /** Accessible name. */
  label: string;
  picture: Frame;
  mask: Pixels | null;
  /** Of the mask, 0 to 1. */
  opacity: number;
  boxes: readonly Box[];
  nameOf: (classId: number) => string;
}

const WANTED_PX = 360;
const LABEL_SHARE = 1 / 24;
const LETTER_SHARE = 0.62;

function Layer({ width, height, pixels, opacity }: Pixels & { opacity: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return <canvas ref={canvas} width={width} height={height} style={{ opacity }} />;
}

/** The file as it was sent; not turned as its tags may ask: models do not either. */
function FileLayer({ file }: { file: Uint8Array }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([new Uint8Array(file)]));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url ? <img src={url} alt="" style={{ imageOrientation: "none" }} /> : null;
}

function boxText({ score, classId }: Box, nameOf: OverlayPictureProps["nameOf"]): string {
  return [classId === null ? "" : nameOf(classId), score === null ? "" : score <= 1 ? percent(score) : fixed(score, 1)]
    .filter(Boolean)
    .join(" ");
}

export function OverlayPicture({ label, picture, mask, opacity, boxes, nameOf }: OverlayPictureProps) {
  const { width, height } = picture;
  const zoom = Math.max(1, WANTED_PX / Math.max(width, height));
  const size = Math.max(width, height) * LABEL_SHARE;
  return (
    <div className={classes["overlay"]} role="img" aria-label={label} style={{ width: width * zoom, aspectRatio: `${width} / ${height}` }}>
      {"file" in picture ? <FileLayer file={picture.file} /> : <Layer {...picture} opacity={1} />}
      {mask ? <Layer {...mask} opacity={opacity} /> : null}
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden>
        {boxes.map((box, index) => {
          const colour = classColour(box.classId ?? index);
          const text = boxText(box, nameOf);
          const [x, y] = [box.x * width, box.y * height];
          // Above the box, or in it where it begins at the edge.
          const top = y >= size ? y - size : y;
          return (
            <g key={index}>
              <rect
                x={x}
                y={y}
                width={Math.max(0, box.width * width)}
                height={Math.max(0, box.height * height)}
                stroke={cssColour(colour)}
              />
              {text ? (
                <>
                  <rect
                    x={x}
                    y={top}
                    width={text.length * size * LETTER_SHARE + size / 2}
                    height={size}
                    fill={cssColour(colour)}
                    stroke="none"
                  />
                  <text x={x + size / 4} y={top + size * 0.78} fontSize={size * 0.8} fill={inkOn(colour)}>
                    {text}
                  </text>
                </>
              ) : null}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

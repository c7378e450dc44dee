/** A picture file drawn to the tensor's size on a canvas, and its pixels as elements. */
import { t } from "@lingui/core/macro";
import { pictureSize, pixelsToTensor, placeImage, type ImageLayout, type ImageOptions } from "@/inference/tensor/image-tensor";
import type { Picture } from "./input-draft";

/** Draws onto `canvas` what the model will see, and returns the elements. */
export function preparePicture(
  bitmap: ImageBitmap,
  filename: string,
  canvas: HTMLCanvasElement,
  layout: ImageLayout,
  options: ImageOptions,
): Picture {
  const size = pictureSize(layout, bitmap, options);
  canvas.width = size.width;
  canvas.height = size.height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error(t`This browser cannot draw pictures.`);
  context.imageSmoothingQuality = "high";
  if (layout.channels < 4) {
    context.fillStyle = "#000";
    context.fillRect(0, 0, size.width, size.height);
  }
  const at = placeImage(bitmap, size, options.fit);
  context.drawImage(bitmap, at.x, at.y, at.width, at.height);
  const pixels = context.getImageData(0, 0, size.width, size.height);
  const elements = pixelsToTensor(pixels.data, size, layout, options);
  if (layout.channels === 1 || options.invert) {
    // The preview shows what is sent, not what was dropped.
    const shown = pixelsToTensor(
      pixels.data,
      size,
      { channels: layout.channels, channelsFirst: false },
      { ...options, order: "rgb", scale: "raw" },
    );
    for (let pixel = 0; pixel < size.width * size.height; pixel += 1) {
      for (let channel = 0; channel < 3; channel += 1) {
        pixels.data[pixel * 4 + channel] = shown[pixel * layout.channels + (layout.channels === 1 ? 0 : channel)] ?? 0;
      }
    }
    context.putImageData(pixels, 0, 0);
  }
  return { filename, elements, ...size };
}

/** A picture as tensor: drop it, say how the model was trained, see what is sent. */
import { Select, Switch } from "@mantine/core";
import { IconPhotoPlus } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { defaultOptions, type ImageLayout, type ImageOptions } from "../tensor/image-tensor";
import classes from "../console.module.css";
import type { InputDraft, Picture } from "./input-draft";
import { preparePicture } from "./picture";

export interface ImageInputProps {
  draft: InputDraft;
  layout: ImageLayout;
  onPicture: (picture: Picture | null) => void;
}

export function ImageInput({ draft, layout, onPicture }: ImageInputProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [file, setFile] = useState<{ name: string; bitmap: ImageBitmap } | null>(null);
  const [options, setOptions] = useState<ImageOptions>(
    () => draft.picture?.options ?? defaultOptions(draft.datatype, layout),
  );
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const report = useRef(onPicture);
  useEffect(() => {
    report.current = onPicture;
  });

  const take = (dropped: File | undefined) => {
    if (!dropped) return;
    createImageBitmap(dropped).then(
      (bitmap) => {
        setProblem(null);
        setFile({ name: dropped.name, bitmap });
      },
      () => setProblem(`${dropped.name} is not a picture that this browser can read.`),
    );
  };

  const { height, width, channels, channelsFirst, leading } = layout;
  useEffect(() => {
    if (file === null || canvas.current === null) return;
    const shape: ImageLayout = { height, width, channels, channelsFirst, leading };
    report.current(preparePicture(file.bitmap, file.name, canvas.current, shape, options));
  }, [file, options, height, width, channels, channelsFirst, leading]);

  const shown = file !== null;
  return (
    <div className={classes["imageArea"]}>
      <label
        className={classes["drop"]}
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          take(event.dataTransfer.files[0]);
        }}
        onPaste={(event) => take(event.clipboardData.files[0])}
      >
        <input
          type="file"
          accept="image/*"
          className="sr-only"
          aria-label={`Picture for ${draft.name}`}
          onChange={(event) => take(event.currentTarget.files?.[0])}
        />
        <canvas ref={canvas} hidden={!shown} role="img" aria-label="What is sent" />
        {shown ? null : (
          <>
            <IconPhotoPlus size={22} stroke={1.6} aria-hidden />
            {draft.picture
              ? `${draft.picture.filename} (as sent before). Drop another`
              : "Drop, paste or choose a picture"}
          </>
        )}
      </label>
      <div>
        <div className={classes["imageOptions"]}>
          <Select
            label="Resize"
            value={options.fit}
            data={[
              { value: "crop", label: "Crop centre" },
              { value: "fit", label: "Fit with bars" },
              { value: "stretch", label: "Stretch" },
            ]}
            onChange={(fit) => fit && setOptions({ ...options, fit: fit as ImageOptions["fit"] })}
          />
          <Select
            label="Values"
            value={options.scale}
            data={[
              { value: "unit", label: "0 to 1" },
              { value: "signed", label: "-1 to 1" },
              { value: "imagenet", label: "ImageNet" },
              { value: "raw", label: "0 to 255" },
            ]}
            onChange={(scale) => scale && setOptions({ ...options, scale: scale as ImageOptions["scale"] })}
          />
          {channels >= 3 ? (
            <Select
              label="Channels"
              value={options.order}
              data={[
                { value: "rgb", label: "RGB" },
                { value: "bgr", label: "BGR" },
              ]}
              onChange={(order) => order && setOptions({ ...options, order: order as ImageOptions["order"] })}
            />
          ) : null}
        </div>
        <Switch
          mt={10}
          label="Invert"
          checked={options.invert}
          onChange={(event) => setOptions({ ...options, invert: event.currentTarget.checked })}
        />
        <p className={classes["sentLine"]} data-tone={problem ? "error" : undefined}>
          {problem ??
            `${channelsFirst ? "Channels first" : "Channels last"}. The same picture fills every item of the batch.`}
        </p>
      </div>
    </div>
  );
}

/** Pictures as tensor: drop them, say how the model was trained, see what is sent. */
import { t } from "@lingui/core/macro";
import { IconPhotoPlus } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { significant } from "@/components/format";
import { defaultOptions, type ImageOptions } from "@/inference/tensor/image-tensor";
import shared from "../console.module.css";
import classes from "./image-input.module.css";
import { Camera } from "./camera";
import { ImageSettings } from "./image-settings";
import { layoutOf, type Batch, type InputDraft, type Picture } from "./input-draft";
import { preparePicture } from "./picture";

interface Source {
  name: string;
  bitmap: ImageBitmap;
}

export interface ImageInputProps {
  draft: InputDraft;
  batch: Batch;
  onChange: (part: Partial<InputDraft>) => void;
}

function range(elements: Float32Array): string {
  let [low, high, sum] = [Infinity, -Infinity, 0];
  for (const value of elements) {
    low = Math.min(low, value);
    high = Math.max(high, value);
    sum += value;
  }
  return t`values ${significant(low)} to ${significant(high)}, mean ${significant(sum / elements.length)}`;
}

/** A picture that is sent in another size than it has says so: where the model takes any size, nobody asked for it. */
function scaledFrom(source: Source | undefined, { width, height }: Picture): string {
  if (source === undefined || (source.bitmap.width === width && source.bitmap.height === height)) return "";
  return t`, made from ${source.bitmap.width} × ${source.bitmap.height}`;
}

export function ImageInput({ draft, batch, onChange }: ImageInputProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [sources, setSources] = useState<Source[]>([]);
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const report = useRef(onChange);
  useEffect(() => {
    report.current = onChange;
  });
  const layout = layoutOf(draft);
  const options: ImageOptions | null = draft.imageOptions ?? (layout && defaultOptions(draft.datatype, layout));

  const take = async (files: readonly File[]) => {
    const pictures = files.filter((file) => file.type.startsWith("image/") || file.type === "");
    if (pictures.length === 0) return;
    try {
      const taken = await Promise.all(pictures.map(async (file) => ({ name: file.name, bitmap: await createImageBitmap(file) })));
      setProblem(null);
      setSources(taken);
    } catch {
      setProblem(t`${pictures.map((file) => file.name).join(", ")}: not a picture that this browser can read.`);
    }
  };

  const settings = JSON.stringify({ layout, options });
  const shown = useRef<Picture[]>(draft.pictures);
  useEffect(() => {
    if (sources.length === 0 || canvas.current === null) return;
    const now = JSON.parse(settings) as { layout: typeof layout; options: ImageOptions | null };
    if (now.layout === null || now.options === null) return;
    // The first picture is drawn last: the preview shows it.
    const pictures: Picture[] = [];
    for (const source of [...sources].reverse())
      pictures.unshift(preparePicture(source.bitmap, source.name, canvas.current, now.layout, now.options));
    shown.current = pictures;
    report.current({ pictures });
  }, [sources, settings]);

  if (layout === null || options === null) return null;
  const [first] = draft.pictures;
  const visible = sources.length > 0;
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
          event.stopPropagation();
          setOver(false);
          void take([...event.dataTransfer.files]);
        }}
        onPaste={(event) => void take([...event.clipboardData.files])}
      >
        <input
          type="file"
          accept="image/*"
          multiple
          className="sr-only"
          aria-label={t`Picture for ${draft.name}`}
          onChange={(event) => void take([...(event.currentTarget.files ?? [])])}
        />
        <canvas ref={canvas} hidden={!visible} role="img" aria-label={t`What is sent`} />
        {visible ? null : (
          <>
            <IconPhotoPlus size={22} stroke={1.6} aria-hidden />
            {first ? t`${first.filename} (as sent before). Drop another` : t`Drop, paste or choose pictures`}
          </>
        )}
      </label>
      <div>
        <ImageSettings draft={draft} layout={layout} options={options} onChange={onChange} />
        <div className={shared["bar"]}>
          <Camera label={draft.name} onPicture={(bitmap) => setSources([{ name: t`camera`, bitmap }])} />
        </div>
        <p className={shared["sentLine"]} data-tone={problem ? "error" : undefined}>
          {problem ??
            [
              first ? t`${first.width} × ${first.height} pixels${scaledFrom(sources[0], first)}` : null,
              layout.channelsFirst ? t`channels first (NCHW)` : t`channels last (NHWC)`,
              first ? range(first.elements) : null,
              draft.pictures.length > 1
                ? t`${draft.pictures.length} pictures, one per item of the batch`
                : batch.on && batch.size > 1
                  ? t`the same picture in every item`
                  : null,
            ]
              .filter(Boolean)
              .join(", ")}
        </p>
      </div>
    </div>
  );
}

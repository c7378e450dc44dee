/** How pictures become numbers: resizing, colours, layout and scale. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select, Switch, TextInput } from "@mantine/core";
import { useState } from "react";
import { LARGEST_SIDE, SCALES, type ImageLayout, type ImageOptions, type Normalisation } from "@/inference/tensor/image-tensor";
import classes from "./image-settings.module.css";
import { layoutsOf, type InputDraft } from "./input-draft";

export interface ImageSettingsProps {
  draft: InputDraft;
  layout: ImageLayout;
  options: ImageOptions;
  onChange: (part: Partial<InputDraft>) => void;
}

export function ImageSettings({ draft, layout, options, onChange }: ImageSettingsProps) {
  const set = (part: Partial<ImageOptions>) => onChange({ imageOptions: { ...options, ...part } });
  const layouts = layoutsOf(draft);
  return (
    <>
      <div className={classes["imageOptions"]}>
        <Select
          label={t`Resize`}
          allowDeselect={false}
          value={options.fit}
          data={[
            { value: "crop", label: t`Crop centre` },
            { value: "fit", label: t`Fit with bars` },
            { value: "stretch", label: t`Stretch` },
          ]}
          onChange={(fit) => fit && set({ fit })}
        />
        <Select
          label={t`Values`}
          allowDeselect={false}
          value={options.scale}
          comboboxProps={{ width: 240, position: "bottom-start" }}
          data={[
            ...Object.entries(SCALES).map(([value, { label }]) => ({ value: value as ImageOptions["scale"], label })),
            { value: "custom" as const, label: t`Own mean and std` },
          ]}
          onChange={(scale) => scale && set({ scale })}
        />
        {layout.channels >= 3 ? (
          <Select
            label={t`Channels`}
            allowDeselect={false}
            value={options.order}
            data={[
              { value: "rgb", label: "RGB" },
              { value: "bgr", label: "BGR" },
            ]}
            onChange={(order) => order && set({ order })}
          />
        ) : null}
        {layout.width === -1 ? <Side label={t`Width`} value={options.width} onChange={(width) => set({ width })} /> : null}
        {layout.height === -1 ? <Side label={t`Height`} value={options.height} onChange={(height) => set({ height })} /> : null}
        {layouts.length > 1 ? (
          <Select
            label={t`Layout`}
            allowDeselect={false}
            value={String(draft.layout)}
            data={layouts.map((item, index) => ({ value: String(index), label: item.channelsFirst ? "NCHW" : "NHWC" }))}
            onChange={(value) => onChange({ layout: Number(value) })}
          />
        ) : null}
      </div>
      {layout.width === -1 || layout.height === -1 ? (
        <p className="secondary">
          <Trans>The model takes any size; many that do want multiples of 32.</Trans>
        </p>
      ) : null}
      {options.scale === "custom" ? <CustomScale value={options.custom} onChange={(custom) => set({ custom })} /> : null}
      <Switch my={10} label={t`Invert`} checked={options.invert} onChange={(event) => set({ invert: event.currentTarget.checked })} />
    </>
  );
}

/** Of a picture, where the model takes any. */
function Side({ label, value, onChange }: { label: string; value: number | null; onChange: (value: number | null) => void }) {
  return (
    <NumberInput
      label={t`${label}, pixels`}
      placeholder={t`as the picture is`}
      min={1}
      max={LARGEST_SIDE}
      clampBehavior="strict"
      allowDecimal={false}
      allowNegative={false}
      value={value ?? ""}
      onChange={(typed) => onChange(typeof typed === "number" && typed >= 1 ? typed : null)}
    />
  );
}

/** One number for all colours, or three. */
function triple(text: string): [number, number, number] | null {
  const numbers = text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
  if (numbers.some((value) => !Number.isFinite(value))) return null;
  const [red, green = red, blue = red] = numbers;
  return red !== undefined && green !== undefined && blue !== undefined && numbers.length !== 2 && numbers.length <= 3
    ? [red, green, blue]
    : null;
}

function CustomScale({ value, onChange }: { value: Normalisation; onChange: (value: Normalisation) => void }) {
  const [texts, setTexts] = useState({
    divide: String(value.divide),
    mean: value.mean.join(", "),
    std: value.std.join(", "),
  });
  const divide = Number(texts.divide);
  const mean = triple(texts.mean);
  const std = triple(texts.std);
  const errors = {
    divide: divide > 0 && Number.isFinite(divide) ? null : t`above 0`,
    mean: mean ? null : t`one number or three`,
    std: std && std.every((item) => item !== 0) ? null : t`one or three, not 0`,
  };
  const type = (name: keyof typeof texts, text: string) => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    const nextMean = triple(next.mean);
    const nextStd = triple(next.std);
    const by = Number(next.divide);
    if (nextMean && nextStd && nextStd.every((item) => item !== 0) && by > 0 && Number.isFinite(by))
      onChange({ divide: by, mean: nextMean, std: nextStd });
  };
  return (
    <div className={classes["imageOptions"]} style={{ marginTop: 8 }}>
      {(
        [
          ["divide", t`Divide by`],
          ["mean", t`Then subtract`],
          ["std", t`Then divide by`],
        ] as const
      ).map(([name, label]) => (
        <TextInput
          key={name}
          label={label}
          value={texts[name]}
          error={errors[name]}
          onChange={(event) => type(name, event.currentTarget.value)}
        />
      ))}
    </div>
  );
}

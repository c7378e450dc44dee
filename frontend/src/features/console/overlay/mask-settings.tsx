/** Which output is the mask, and how it is painted. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select, Slider, Switch } from "@mantine/core";
import type { OutputTensor } from "../results/output-tensor";
import classes from "./mask-settings.module.css";
import { maskModes, type MaskMode, type MaskShape } from "./masks";

export interface MaskChoice {
  name: string | null;
  mode: MaskMode | null;
  opacity: number;
  hideFirst: boolean;
}

export interface MaskSettingsProps {
  masks: readonly { tensor: OutputTensor; shape: MaskShape }[];
  choice: MaskChoice;
  onChoice: (part: Partial<MaskChoice>) => void;
}

/** The mode in force: the chosen one where it fits, else the likeliest. */
export function modeOf({ tensor, shape }: MaskSettingsProps["masks"][number], wanted: MaskMode | null): MaskMode {
  const modes = maskModes(tensor, shape);
  return modes.find(({ value }) => value === wanted)?.value ?? modes[0]?.value ?? "heat-0";
}

export function MaskSettings({ masks, choice, onChoice }: MaskSettingsProps) {
  const shown = masks.find(({ tensor }) => tensor.name === choice.name);
  const mode = shown && modeOf(shown, choice.mode);
  if (masks.length === 0) return null;
  return (
    <>
      <Select
        label={t`Mask`}
        placeholder={t`none`}
        clearable
        value={choice.name}
        data={masks.map(({ tensor }) => tensor.name)}
        onChange={(name) => onChoice({ name, mode: null })}
      />
      {shown && mode ? (
        <>
          <Select
            label={t`Painted as`}
            allowDeselect={false}
            value={mode}
            data={maskModes(shown.tensor, shown.shape)}
            onChange={(value) => value && onChoice({ mode: value as MaskMode })}
          />
          <div>
            <span className={classes["sliderLabel"]}>
              <Trans>Opacity of the mask</Trans>
            </span>
            <Slider
              thumbLabel={t`Opacity of the mask`}
              min={0}
              max={100}
              label={(value) => `${value} %`}
              value={Math.round(choice.opacity * 100)}
              onChange={(value) => onChoice({ opacity: value / 100 })}
            />
          </div>
          {mode.startsWith("heat") ? null : (
            <Switch
              label={t`Class 0 is see-through`}
              checked={choice.hideFirst}
              onChange={(event) => onChoice({ hideFirst: event.currentTarget.checked })}
            />
          )}
        </>
      ) : null}
    </>
  );
}

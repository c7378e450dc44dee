/** A choice among the tensors of an ensemble: those that do not fit are shown, with the reason. */
import { t } from "@lingui/core/macro";
import { Select } from "@mantine/core";
import type { Choice } from "../config/pipeline-fit";
import classes from "./pipeline-editor.module.css";

const saidOf = (choice: Choice): string =>
  choice.reason === null ? [choice.type, t`of ${choice.from}`].filter(Boolean).join(", ") : t`does not fit: ${choice.reason}`;

export interface TensorSelectProps {
  label: string;
  choices: readonly Choice[];
  value: string | null;
  disabled: boolean;
  /** May be left unconnected. */
  optional?: boolean;
  /** What stands first; the tensor's name unless said. */
  named?: (choice: Choice) => string;
  onChange: (tensor: string | null) => void;
}

export function TensorSelect({ label, choices, value, disabled, optional = false, named, onChange }: TensorSelectProps) {
  const chosen = choices.find((one) => one.tensor === value);
  const unknown = value !== null && !chosen;
  return (
    <Select
      label={label}
      placeholder={t`not connected`}
      classNames={{ input: "mono", option: classes["option"] ?? "" }}
      clearable={optional}
      allowDeselect={false}
      value={value}
      disabled={disabled}
      data={[
        ...choices.map((one) => ({
          value: one.tensor,
          label: named?.(one) ?? one.tensor,
          disabled: one.reason !== null && one !== chosen,
        })),
        ...(unknown ? [{ value, label: value }] : []),
      ]}
      renderOption={({ option }) => {
        const choice = choices.find((one) => one.tensor === option.value);
        return (
          <span className={classes["choice"]}>
            <span className="mono">{option.label}</span>
            <span className="secondary">{choice ? saidOf(choice) : t`made by nobody`}</span>
          </span>
        );
      }}
      description={
        chosen && chosen.reason === null
          ? [chosen.type, named ? t`called ${chosen.tensor}` : t`of ${chosen.from}`].filter(Boolean).join(", ")
          : undefined
      }
      error={unknown ? t`No step makes ${value}` : chosen?.reason ? t`Does not fit: ${chosen.reason}` : undefined}
      onChange={onChange}
    />
  );
}

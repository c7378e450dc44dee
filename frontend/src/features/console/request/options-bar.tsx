/** Model, version, batch size, protocol, and the sequence that the call belongs to. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Checkbox, NumberInput, SegmentedControl, Select, TextInput } from "@mantine/core";
import type { ConsoleModel } from "@/api/types";
import { Chip } from "@/components/status";
import type { InferCall } from "@/inference/socket/messages";
import shared from "../console.module.css";
import classes from "./options-bar.module.css";
import type { Batch } from "./input-draft";
import type { CallOptions, SequenceOptions } from "./options";

export interface OptionsBarProps {
  models: readonly ConsoleModel[];
  model: ConsoleModel;
  onModel: (name: string) => void;
  batch: Batch;
  onBatch: (size: number) => void;
  options: CallOptions;
  onOptions: (part: Partial<CallOptions>) => void;
}

export function OptionsBar(props: OptionsBarProps) {
  const { models, model, batch, options, onOptions } = props;
  const set = (part: Partial<SequenceOptions>) => onOptions({ sequence: { ...options.sequence, ...part } });
  return (
    <div className={shared["bar"]}>
      {models.length > 1 ? (
        <Select
          label={t`Model`}
          allowDeselect={false}
          value={model.name}
          data={models.map((one) => one.name)}
          onChange={(name) => name !== null && props.onModel(name)}
        />
      ) : null}
      {model.versions.length > 1 ? (
        <Select
          label={t`Model version`}
          w={150}
          allowDeselect={false}
          value={options.version}
          data={[
            { value: "", label: t`server's choice` },
            ...model.versions.map((version) => ({ value: String(version), label: t`version ${version}` })),
          ]}
          onChange={(version) => onOptions({ version: version ?? "" })}
        />
      ) : null}
      {batch.on ? (
        <NumberInput
          label={t`Batch size`}
          w={104}
          min={1}
          max={Math.max(1, model.max_batch_size)}
          allowDecimal={false}
          value={batch.size}
          onChange={(value) => typeof value === "number" && value >= 1 && props.onBatch(value)}
        />
      ) : null}
      {model.decoupled ? (
        <div className={classes["control"]}>
          <span className={classes["label"]}>
            <Trans>Protocol</Trans>
          </span>
          <span>
            <Chip tone="info">
              <Trans>gRPC stream: any number of responses</Trans>
            </Chip>
          </span>
        </div>
      ) : (
        <div className={classes["control"]}>
          <span className={classes["label"]} aria-hidden>
            <Trans>Protocol</Trans>
          </span>
          <SegmentedControl
            aria-label={t`Protocol`}
            value={options.protocol}
            data={[
              { value: "http", label: "HTTP" },
              { value: "grpc", label: "gRPC" },
            ]}
            onChange={(protocol) => onOptions({ protocol: protocol as InferCall["protocol"] })}
          />
        </div>
      )}
      {model.sequence ? (
        <>
          <TextInput
            label={t`Sequence id`}
            w={120}
            value={options.sequence.id}
            onChange={(event) => set({ id: event.currentTarget.value })}
          />
          <Checkbox
            label={t`Start`}
            checked={options.sequence.start}
            onChange={(event) => set({ start: event.currentTarget.checked })}
            mb={6}
          />
          <Checkbox label={t`End`} checked={options.sequence.end} onChange={(event) => set({ end: event.currentTarget.checked })} mb={6} />
        </>
      ) : null}
    </div>
  );
}

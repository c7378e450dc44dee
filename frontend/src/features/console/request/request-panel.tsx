/** The request: what to call, its inputs as a form or as JSON, and Send. */
import { Button, Kbd, Menu, NumberInput, SegmentedControl, Select } from "@mantine/core";
import { IconChevronDown, IconSend } from "@tabler/icons-react";
import type { ConsoleModel } from "@/api/types";
import { Card } from "@/components/card";
import type { InferCall } from "../socket/console-socket";
import type { SampleKind } from "../tensor/samples";
import classes from "../console.module.css";
import { InputField } from "./input-field";
import type { Batch, InputDraft } from "./input-draft";

export interface RequestPanelProps {
  models: readonly ConsoleModel[];
  model: ConsoleModel;
  onModel: (name: string) => void;
  batch: Batch;
  onBatch: (size: number) => void;
  protocol: InferCall["protocol"];
  onProtocol: (protocol: InferCall["protocol"]) => void;
  drafts: readonly InputDraft[];
  onDraft: (index: number, part: Partial<InputDraft>) => void;
  onSample: (kind: SampleKind) => void;
  /** null shows the form. */
  json: string | null;
  onJson: (text: string) => void;
  onView: (view: "form" | "json") => void;
  /** Why it cannot be sent, or null. */
  problem: string | null;
  /** The problem is only that something is still to be filled in. */
  waiting: boolean;
  busy: boolean;
  onSend: () => void;
}

export function RequestPanel(props: RequestPanelProps) {
  const { models, model, batch, drafts, json, problem, busy } = props;
  return (
    <Card
      title="Request"
      actions={
        <>
          <Menu>
            <Menu.Target>
              <Button variant="subtle" color="gray" rightSection={<IconChevronDown size={14} aria-hidden />}>
                Fill with sample
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => props.onSample("zeros")}>Zeros</Menu.Item>
              <Menu.Item onClick={() => props.onSample("random")}>Random values</Menu.Item>
            </Menu.Dropdown>
          </Menu>
          <SegmentedControl
            aria-label="View of the request"
            value={json === null ? "form" : "json"}
            data={[
              { value: "form", label: "Form" },
              { value: "json", label: "JSON" },
            ]}
            onChange={props.onView}
          />
        </>
      }
      flush
    >
      <div className={classes["section"]}>
        <div className={classes["bar"]}>
          {models.length > 1 ? (
            <Select
              label="Model"
              value={model.name}
              data={models.map((one) => one.name)}
              onChange={(name) => name !== null && props.onModel(name)}
            />
          ) : null}
          {batch.on ? (
            <NumberInput
              label="Batch size"
              w={104}
              min={1}
              max={Math.max(1, model.max_batch_size)}
              allowDecimal={false}
              value={batch.size}
              onChange={(value) => typeof value === "number" && value >= 1 && props.onBatch(value)}
            />
          ) : null}
          <div className={classes["control"]}>
            <span className={classes["label"]} aria-hidden>
              Protocol
            </span>
            <SegmentedControl
              aria-label="Protocol"
              value={props.protocol}
              data={[
                { value: "http", label: "HTTP" },
                { value: "grpc", label: "gRPC" },
              ]}
              onChange={props.onProtocol}
            />
          </div>
        </div>
      </div>
      {json === null ? (
        drafts.map((draft, index) => (
          <InputField
            key={`${index} ${draft.name}`}
            draft={draft}
            batch={batch}
            onChange={(part) => props.onDraft(index, part)}
          />
        ))
      ) : (
        <textarea
          className={classes["json"]}
          aria-label="Request as JSON"
          spellCheck={false}
          value={json}
          onChange={(event) => props.onJson(event.currentTarget.value)}
        />
      )}
      <div className={classes["send"]}>
        <Button
          leftSection={<IconSend size={15} aria-hidden />}
          onClick={props.onSend}
          loading={busy}
          disabled={problem !== null}
        >
          Send
        </Button>
        <span className="secondary">
          <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd>
        </span>
        <span
          className={classes["sendMessage"]}
          data-tone={problem === null || props.waiting ? undefined : "error"}
          role="status"
        >
          {problem}
        </span>
      </div>
    </Card>
  );
}

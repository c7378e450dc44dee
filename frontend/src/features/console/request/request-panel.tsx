/** The request: what to call, its inputs as a form, as JSON or as code, and Send. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Kbd, Menu, SegmentedControl } from "@mantine/core";
import { IconChevronDown, IconPlayerStop, IconSend } from "@tabler/icons-react";
import type { ConsoleModel } from "@/api/types";
import { Card } from "@/components/card";
import { COMMAND_KEY } from "@/components/command-key";
import { FILL_LABELS, FILLS, type FillKind } from "@/inference/tensor/samples";
import shared from "../console.module.css";
import classes from "./request-panel.module.css";
import { InputField } from "./input-field";
import type { Batch, InputDraft } from "./input-draft";
import { OptionsBar } from "./options-bar";
import type { CallOptions } from "./options";

export type RequestView = "form" | "json" | "code";

export interface RequestPanelProps {
  models: readonly ConsoleModel[];
  model: ConsoleModel;
  onModel: (name: string) => void;
  batch: Batch;
  onBatch: (size: number) => void;
  options: CallOptions;
  onOptions: (part: Partial<CallOptions>) => void;
  drafts: readonly InputDraft[];
  onDraft: (index: number, part: Partial<InputDraft>) => void;
  onFill: (kind: FillKind) => void;
  onWarmup: (index: number) => void;
  view: RequestView;
  onView: (view: RequestView) => void;
  json: string;
  onJson: (text: string) => void;
  code: React.ReactNode;
  /** Saved cases, beside the title. */
  cases: React.ReactNode;
  /** What is to be said about the request, or null. */
  problem: string | null;
  /** It cannot be sent. */
  blocked: boolean;
  /** The problem is only that something is still to be filled in. */
  waiting: boolean;
  busy: boolean;
  /** How many deployments it goes to. */
  sendTo: number;
  onSend: () => void;
  onStop: () => void;
}

export function RequestPanel(props: RequestPanelProps) {
  const { model, batch, drafts, view, problem, busy } = props;
  return (
    <Card
      title={t`Request`}
      actions={
        <>
          {props.cases}
          <Menu>
            <Menu.Target>
              <Button variant="subtle" color="gray" rightSection={<IconChevronDown size={14} aria-hidden />}>
                <Trans>Fill</Trans>
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Label>
                <Trans>All inputs</Trans>
              </Menu.Label>
              {FILLS.map((kind) => (
                <Menu.Item key={kind} onClick={() => props.onFill(kind)}>
                  {FILL_LABELS[kind]}
                </Menu.Item>
              ))}
              {model.warmup && model.warmup.length > 0 ? (
                <>
                  <Menu.Label>
                    <Trans>From the model's warm-up</Trans>
                  </Menu.Label>
                  {model.warmup.map((sample, index) => (
                    <Menu.Item key={index} onClick={() => props.onWarmup(index)}>
                      {sample.name || t`request ${index + 1}`}
                    </Menu.Item>
                  ))}
                </>
              ) : null}
            </Menu.Dropdown>
          </Menu>
          <SegmentedControl
            aria-label={t`View of the request`}
            value={view}
            data={[
              { value: "form", label: t`Form` },
              { value: "json", label: "JSON" },
              { value: "code", label: t`Code` },
            ]}
            onChange={(next) => props.onView(next as RequestView)}
          />
        </>
      }
      flush
    >
      <div className={shared["section"]}>
        <OptionsBar
          models={props.models}
          model={model}
          onModel={props.onModel}
          batch={batch}
          onBatch={props.onBatch}
          options={props.options}
          onOptions={props.onOptions}
        />
      </div>
      {view === "form"
        ? drafts.map((draft, index) => (
            <InputField key={`${index} ${draft.name}`} draft={draft} batch={batch} onChange={(part) => props.onDraft(index, part)} />
          ))
        : null}
      {view === "json" ? (
        <textarea
          className={classes["json"]}
          aria-label={t`Request as JSON`}
          spellCheck={false}
          value={props.json}
          onChange={(event) => props.onJson(event.currentTarget.value)}
        />
      ) : null}
      {view === "code" ? <div className={shared["section"]}>{props.code}</div> : null}
      <div className={classes["send"]}>
        {busy ? (
          <Button variant="default" leftSection={<IconPlayerStop size={15} aria-hidden />} onClick={props.onStop}>
            <Trans>Stop</Trans>
          </Button>
        ) : (
          <Button leftSection={<IconSend size={15} aria-hidden />} onClick={props.onSend} disabled={props.blocked}>
            {props.sendTo === 1 ? t`Send` : props.sendTo === 2 ? t`Send to both` : t`Send to all ${props.sendTo}`}
          </Button>
        )}
        <span className="secondary">
          <Kbd size="xs">{COMMAND_KEY}</Kbd>{" "}
          <Kbd size="xs">
            <Trans>Enter</Trans>
          </Kbd>
        </span>
        <span className={classes["sendMessage"]} data-tone={problem === null || props.waiting ? undefined : "error"} role="status">
          {problem}
        </span>
      </div>
    </Card>
  );
}

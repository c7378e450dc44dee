/** How quickly a policy acts, and when other bounds hold: folded away, as most policies leave it as it is. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, NumberInput, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { NumberField } from "@/components/number-field";
import { advancedText, type Draft, newSchedule, type Schedule, type Side } from "./policy";
import classes from "./policy-form.module.css";

const MOST_REPLICAS = 1_000;
const LONGEST_S = 3_600;
const MOST_SCHEDULES = 20;

interface AdvancedProps {
  draft: Draft;
  disabled: boolean;
  onChange: (draft: Draft) => void;
}

export function PolicyAdvanced({ draft, disabled, onChange }: AdvancedProps) {
  const schedules = (changed: Schedule[]) => onChange({ ...draft, schedules: changed });
  return (
    <details className={classes["advanced"]}>
      <summary>
        <b>
          <Trans>Advanced</Trans>
        </b>{" "}
        <span className="secondary">{advancedText(draft)}</span>
      </summary>
      <SideFields word={t`More`} side={draft.up} disabled={disabled} onChange={(up) => onChange({ ...draft, up })} />
      <SideFields word={t`Fewer`} side={draft.down} disabled={disabled} onChange={(down) => onChange({ ...draft, down })} />
      <div className={classes["fields"]}>
        <NumberField
          label={t`Tolerance`}
          title={t`So far above or below a target nothing happens.`}
          suffix=" %"
          value={draft.tolerance_percent}
          {...{ min: 0, max: 50, allowDecimal: false, w: 150, disabled }}
          onChange={(value) => onChange({ ...draft, tolerance_percent: value })}
        />
        <NumberField
          label={t`Looks every`}
          suffix=" s"
          value={draft.interval_s}
          {...{ min: 2, max: 60, allowDecimal: false, w: 150, disabled }}
          onChange={(value) => onChange({ ...draft, interval_s: value })}
        />
      </div>
      {draft.min === 0 ? <IdleFields idle={draft.idle} disabled={disabled} onChange={(idle) => onChange({ ...draft, idle })} /> : null}
      {draft.schedules.map((schedule, index) => (
        <ScheduleFields
          key={index}
          name={t`schedule ${index + 1}`}
          schedule={schedule}
          disabled={disabled}
          onChange={(changed) => schedules(draft.schedules.with(index, changed))}
          onRemove={() => schedules(draft.schedules.toSpliced(index, 1))}
        />
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<IconPlus size={14} />}
        disabled={disabled || draft.schedules.length >= MOST_SCHEDULES}
        onClick={() => schedules([...draft.schedules, newSchedule(draft, Intl.DateTimeFormat().resolvedOptions().timeZone)])}
      >
        <Trans>Add a schedule</Trans>
      </Button>
    </details>
  );
}

interface IdleProps {
  idle: Draft["idle"];
  disabled: boolean;
  onChange: (idle: Draft["idle"]) => void;
}

function IdleFields({ idle, disabled, onChange }: IdleProps) {
  const whole = { allowDecimal: false, w: 150, disabled };
  return (
    <div className={classes["fields"]}>
      <NumberField
        {...whole}
        {...{ min: 10, max: 86_400, suffix: " s" }}
        label={t`None after`}
        title={t`So long without a request, and no replica is left.`}
        value={idle.after_s}
        onChange={(value) => onChange({ ...idle, after_s: value })}
      />
      <NumberField
        {...whole}
        {...{ min: 1, max: 300, suffix: " s" }}
        label={t`Requests wait`}
        title={t`So long a request waits for a replica to wake; then it is told 503.`}
        value={idle.hold_s}
        onChange={(value) => onChange({ ...idle, hold_s: value })}
      />
      <NumberField
        {...whole}
        {...{ min: 1, max: 10_000 }}
        label={t`At a time`}
        title={t`So many requests wait at each gateway; more are told 503.`}
        value={idle.most_held}
        onChange={(value) => onChange({ ...idle, most_held: value })}
      />
    </div>
  );
}

interface SideProps {
  word: string;
  side: Side;
  disabled: boolean;
  onChange: (side: Side) => void;
}

function SideFields({ word, side, disabled, onChange }: SideProps) {
  const seconds = { min: 0, max: LONGEST_S, allowDecimal: false, suffix: " s", w: 150, disabled };
  return (
    <div className={classes["fields"]}>
      <NumberField
        {...seconds}
        label={t`${word} after`}
        title={t`So long the load must have asked for it without a break.`}
        value={side.window_s}
        onChange={(value) => onChange({ ...side, window_s: value })}
      />
      <NumberField
        {...seconds}
        label={t`${word}: cool-down`}
        title={t`So long nothing happens after any change, a person's as well.`}
        value={side.cooldown_s}
        onChange={(value) => onChange({ ...side, cooldown_s: value })}
      />
      <NumberInput
        label={t`${word} a minute`}
        title={t`Replicas at most; empty: as many as are wanted.`}
        placeholder={t`any`}
        value={side.per_minute ?? ""}
        {...{ min: 1, max: MOST_REPLICAS, allowDecimal: false, w: 150, disabled }}
        onChange={(value) => onChange({ ...side, per_minute: Number(value) || null })}
      />
    </div>
  );
}

interface ScheduleProps {
  name: string;
  schedule: Schedule;
  disabled: boolean;
  onChange: (schedule: Schedule) => void;
  onRemove: () => void;
}

function ScheduleFields({ name, schedule, disabled, onChange, onRemove }: ScheduleProps) {
  const whole = { min: 1, max: MOST_REPLICAS, allowDecimal: false, w: 110, disabled };
  const text = (field: "start" | "end" | "time_zone") => ({
    value: schedule[field],
    disabled,
    w: 150,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => onChange({ ...schedule, [field]: event.currentTarget.value }),
  });
  return (
    <div className={classes["fields"]} role="group" aria-label={name}>
      <TextInput {...text("start")} label={t`From`} title={t`Cron: minute, hour, day, month, day of the week.`} />
      <TextInput {...text("end")} label={t`Until`} title={t`Cron: minute, hour, day, month, day of the week.`} />
      <TextInput {...text("time_zone")} label={t`Time zone`} />
      <NumberField {...whole} label={t`At least`} value={schedule.min} onChange={(value) => onChange({ ...schedule, min: value })} />
      <NumberInput
        {...whole}
        label={t`At most`}
        placeholder={t`as else`}
        value={schedule.max ?? ""}
        onChange={(value) => onChange({ ...schedule, max: Number(value) || null })}
      />
      <ActionIcon variant="subtle" color="red" size="lg" aria-label={t`Remove ${name}`} disabled={disabled} onClick={onRemove}>
        <IconTrash size={16} />
      </ActionIcon>
    </div>
  );
}

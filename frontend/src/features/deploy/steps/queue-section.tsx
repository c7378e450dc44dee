/** How long requests wait for their batch, and how many may: the queue policy of dynamic batching. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput } from "@mantine/core";
import { removeAt, setAt } from "../config/pbtxt-edit";
import classes from "../deploy.module.css";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { FoldedSection } from "./folded-section";
import { errorAbout, originOf, type FormContext } from "./form-context";
import { OriginBadge } from "./form-field";
import { count } from "@/components/format";

const POLICY = ["dynamic_batching", "default_queue_policy"];

export function QueueSection({ form }: { form: FormContext }) {
  const { dynamicBatching, queue } = form.fields;
  const write = (name: string, value: number | string) =>
    form.onChange(typeof value === "number" ? setAt(form.text, [...POLICY, name], String(value)) : removeAt(form.text, [...POLICY, name]));
  const words = [
    queue?.timeoutMicroseconds ? t`at most ${count(queue.timeoutMicroseconds)} µs` : "",
    queue?.size ? plural(queue.size, { one: "# request", other: "# requests" }) : "",
  ].filter(Boolean);
  return (
    <FoldedSection
      title={t`Queue`}
      state={words.join(", ") || t`requests wait as long as they must`}
      badge={<OriginBadge origin={originOf(form, "queue", "dynamic_batching")} what={t`Queue`} />}
    >
      {dynamicBatching ? (
        <>
          <div className={classes["fields"]}>
            <NumberInput
              label={t`Longest wait`}
              value={queue?.timeoutMicroseconds ?? ""}
              placeholder={t`no end`}
              suffix={"\u202fµs"}
              {...DIGIT_GROUPS}
              min={0}
              step={1000}
              allowDecimal={false}
              onChange={(value) => write("default_timeout_microseconds", value)}
              error={errorAbout(form, "default_timeout_microseconds")}
            />
            <NumberInput
              label={t`Waiting requests`}
              value={queue?.size ?? ""}
              placeholder={t`any number`}
              {...DIGIT_GROUPS}
              min={0}
              allowDecimal={false}
              onChange={(value) => write("max_queue_size", value)}
              error={errorAbout(form, "max_queue_size")}
            />
          </div>
          <p className={classes["hint"]}>
            <Trans>A request that waits longer, or finds the queue full, is refused.</Trans>
          </p>
        </>
      ) : (
        <p className={classes["hint"]}>
          <Trans>The queue has limits of its own only with dynamic batching.</Trans>
        </p>
      )}
    </FoldedSection>
  );
}

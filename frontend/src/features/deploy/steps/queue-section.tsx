/** How long requests wait for their batch, and how many may: the queue policy of dynamic batching. */
import { NumberInput } from "@mantine/core";
import { counted } from "@/components/format";
import { removeAt, setAt } from "../config/pbtxt-edit";
import classes from "../deploy.module.css";
import { FoldedSection } from "./folded-section";
import { errorAbout, originOf, type FormContext } from "./form-context";
import { OriginBadge } from "./form-field";

const POLICY = ["dynamic_batching", "default_queue_policy"];

export function QueueSection({ form }: { form: FormContext }) {
  const { dynamicBatching, queue } = form.fields;
  const write = (name: string, value: number | string) =>
    form.onChange(typeof value === "number" ? setAt(form.text, [...POLICY, name], String(value)) : removeAt(form.text, [...POLICY, name]));
  const words = [
    queue?.timeoutMicroseconds ? `at most ${queue.timeoutMicroseconds.toLocaleString("en")} µs` : "",
    queue?.size ? counted(queue.size, "request") : "",
  ].filter(Boolean);
  return (
    <FoldedSection
      title="Queue"
      state={words.join(", ") || "requests wait as long as they must"}
      badge={<OriginBadge origin={originOf(form, "queue", "dynamic_batching")} what="Queue" />}
    >
      {dynamicBatching ? (
        <>
          <div className={classes["fields"]}>
            <NumberInput
              label="Longest wait"
              value={queue?.timeoutMicroseconds ?? ""}
              placeholder="no end"
              suffix={"\u202fµs"}
              thousandSeparator=","
              min={0}
              step={1000}
              allowDecimal={false}
              onChange={(value) => write("default_timeout_microseconds", value)}
              error={errorAbout(form, "default_timeout_microseconds")}
            />
            <NumberInput
              label="Waiting requests"
              value={queue?.size ?? ""}
              placeholder="any number"
              thousandSeparator=","
              min={0}
              allowDecimal={false}
              onChange={(value) => write("max_queue_size", value)}
              error={errorAbout(form, "max_queue_size")}
            />
          </div>
          <p className={classes["hint"]}>A request that waits longer, or finds the queue full, is refused.</p>
        </>
      ) : (
        <p className={classes["hint"]}>The queue has limits of its own only with dynamic batching.</p>
      )}
    </FoldedSection>
  );
}

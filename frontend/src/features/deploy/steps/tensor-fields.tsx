/** Inputs or outputs as the text declares them, each editable in place. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select, TextInput } from "@mantine/core";
import { bytes, tensorBytes } from "@/components/format";
import { quoted, setAt } from "../config/pbtxt-edit";
import shared from "../deploy.module.css";
import classes from "./tensor-fields.module.css";
import { errorAbout, originOf, type FormContext } from "./form-context";
import { OriginBadge } from "./form-field";
import { ListInput } from "./list-input";
import { TensorTable } from "./tensor-table";

const TYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16", "FP32", "FP64", "STRING"];

export function TensorFields({ form, kind, batched }: { form: FormContext; kind: "input" | "output"; batched: boolean }) {
  const key = kind === "input" ? "inputs" : "outputs";
  const title = kind === "input" ? t`Inputs` : t`Outputs`;
  const declared = form.fields[key];
  const known = form.model[key];
  const restore = () => {
    let text = form.text;
    form.start[key].forEach((tensor, index) => {
      text = setAt(text, [kind, index, "name"], quoted(tensor.name));
      text = setAt(text, [kind, index, "data_type"], `TYPE_${tensor.datatype}`);
      text = setAt(text, [kind, index, "dims"], `[ ${tensor.dims.join(", ")} ]`);
    });
    form.onChange(text);
  };
  const restorable = declared.length === form.start[key].length;
  return (
    <div className={shared["section"]}>
      <div className={shared["sectionHead"]}>
        <h2>{title}</h2>
        <OriginBadge origin={originOf(form, key, key)} what={title} onRestore={restorable ? restore : undefined} />
      </div>
      {declared.length === 0 ? (
        known.length === 0 ? (
          <p className={shared["hint"]}>
            <Trans>None is declared, and the file does not tell. Write them into the text.</Trans>
          </p>
        ) : (
          <TensorTable tensors={known} caption={title} batched={batched} />
        )
      ) : (
        <ul className={classes["tensors"]} aria-label={title}>
          {declared.map((tensor, index) => {
            const at = `${title} ${index + 1}`;
            const path = `${kind}[${index}]`;
            return (
              <li key={index}>
                <TextInput
                  label={index === 0 ? t`Name` : undefined}
                  aria-label={t`${at}, name`}
                  value={tensor.name}
                  classNames={{ input: "mono" }}
                  onChange={(event) => form.onChange(setAt(form.text, [kind, index, "name"], quoted(event.currentTarget.value)))}
                  error={errorAbout(form, `${path}.name`)}
                />
                <Select
                  label={index === 0 ? t`Type` : undefined}
                  aria-label={t`${at}, type`}
                  data={TYPES}
                  value={tensor.datatype || null}
                  onChange={(type) => {
                    if (type !== null) form.onChange(setAt(form.text, [kind, index, "data_type"], `TYPE_${type}`));
                  }}
                  error={errorAbout(form, `${path}.data_type`)}
                />
                <ListInput
                  caption={index === 0 ? (batched ? t`Shape without batch` : t`Shape`) : undefined}
                  label={t`${at}, shape`}
                  value={tensor.dims}
                  least={-1}
                  placeholder={t`-1 for any`}
                  onChange={(dims) => form.onChange(setAt(form.text, [kind, index, "dims"], `[ ${dims.join(", ")} ]`))}
                  error={errorAbout(form, `${path}.dims`)}
                />
                <span className={classes["tensorSize"]} title={t`One item, without the batch`}>
                  {bytes(tensorBytes(tensor.datatype, tensor.dims))}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

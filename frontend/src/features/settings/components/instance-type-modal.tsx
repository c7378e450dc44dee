/** One instance type, new or to be changed. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal, NumberInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createInstanceType, updateInstanceType } from "@/api/installation";
import { keys } from "@/api/keys";
import type { InstanceType } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { badLabel } from "@/components/labels";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { EMPTY_TYPE, fieldsOf, inputOf, type TypeFields } from "../instance-type-form";
import classes from "../pages/settings.module.css";
import { instanceTypeRecipe } from "../recipes";

type NumberField = "gpuCount" | "gpuGib" | "cpuCount" | "memoryGib";

/** Mounted anew for each type, so that it starts with that type's values. */
export function InstanceTypeModal({ type, onClose }: { type: InstanceType | null; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [fields, setFields] = useState<TypeFields>(() => (type ? fieldsOf(type) : EMPTY_TYPE));
  const set = <K extends keyof TypeFields>(key: K, value: TypeFields[K]) => setFields((old) => ({ ...old, [key]: value }));
  const save = useMutation({
    mutationFn: () => {
      const { name, ...rest } = inputOf(fields);
      return type ? updateInstanceType(type.name, rest) : createInstanceType({ name, ...rest });
    },
    onSuccess: async (saved) => {
      await queryClient.invalidateQueries({ queryKey: keys.instanceTypes });
      notifyDone(t`${saved.name} is saved`);
      onClose();
    },
  });
  const wrong = badLabel(fields.labels);
  const number = (key: NumberField, label: string, decimalScale: number) => (
    <NumberInput
      label={label}
      min={0}
      decimalScale={decimalScale}
      allowNegative={false}
      value={fields[key]}
      onChange={(value) => set(key, typeof value === "number" ? value : 0)}
    />
  );
  return (
    <Modal
      opened
      onClose={onClose}
      size={560}
      title={type ? t`Change ${type.name}` : t`New instance type`}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      <form
        className={classes["tall"]}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextInput
          label={t`Name`}
          disabled={type !== null}
          data-autofocus
          value={fields.name}
          onChange={(event) => set("name", event.currentTarget.value)}
        />
        <TextInput label={t`Description`} value={fields.description} onChange={(event) => set("description", event.currentTarget.value)} />
        <TextInput
          label={t`Other names`}
          description={t`With commas between them; Azure's machine sizes, for instance`}
          value={fields.aliases}
          onChange={(event) => set("aliases", event.currentTarget.value)}
        />
        <div className={classes["columns"]}>
          {number("gpuCount", t`GPUs for each replica`, 0)}
          {number("gpuGib", t`Memory of each GPU, GiB`, 1)}
          {number("cpuCount", t`Cores of the node`, 0)}
          {number("memoryGib", t`Memory of the node, GiB`, 1)}
        </div>
        {fields.gpuCount > 0 ? (
          <div className={classes["columns"]}>
            <TextInput
              label={t`GPU model contains`}
              placeholder={t`any`}
              value={fields.gpuModel}
              onChange={(event) => set("gpuModel", event.currentTarget.value)}
            />
            <div>
              <span className={classes["label"]}>
                <Trans>Without a fitting GPU</Trans>
              </span>
              <Segmented
                label={t`Without a fitting GPU`}
                value={fields.gpuPolicy}
                options={[
                  { value: "preferred", label: t`Use processors` },
                  { value: "required", label: t`Do not start` },
                ]}
                onChange={(value) => set("gpuPolicy", value)}
              />
            </div>
          </div>
        ) : null}
        <TextInput
          label={t`Labels of the node`}
          placeholder="zone=a, kind=gpu"
          value={fields.labels}
          error={wrong ? t`${wrong}: expected key=value` : undefined}
          onChange={(event) => set("labels", event.currentTarget.value)}
        />
        {save.error ? <ProblemCard error={save.error} title={t`It could not be saved`} /> : null}
        <div className={classes["actions"]}>
          <AsCodeButton recipe={() => instanceTypeRecipe(inputOf(fields), type !== null)} />
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" disabled={fields.name.trim() === "" || wrong !== null} loading={save.isPending}>
            <Trans>Save</Trans>
          </Button>
        </div>
      </form>
    </Modal>
  );
}

/** Inputs or outputs of a model: name, type, shape, bytes of one request. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { Tensor } from "@/api/types";
import { bytes, shape, tensorBytes } from "@/components/format";
import classes from "./tensor-table.module.css";

export function TensorTable({ tensors, caption, batched }: { tensors: readonly Tensor[]; caption: string; batched: boolean }) {
  return (
    <div className={classes["tableWrap"]}>
      <table className={classes["table"]}>
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">
              <Trans>Name</Trans>
            </th>
            <th scope="col">
              <Trans>Type</Trans>
            </th>
            <th scope="col">{batched ? t`Shape without batch` : t`Shape`}</th>
            <th scope="col">
              <Trans>One request</Trans>
            </th>
          </tr>
        </thead>
        <tbody>
          {tensors.map((tensor) => (
            <tr key={tensor.name}>
              <td className="mono" style={{ overflowWrap: "anywhere" }}>
                {tensor.name}
                {tensor.optional ? (
                  <span className="secondary">
                    {" "}
                    <Trans>optional</Trans>
                  </span>
                ) : null}
              </td>
              <td className="mono">{tensor.datatype}</td>
              <td className="mono">{shape(tensor.shape)}</td>
              <td className="muted">{bytes(tensorBytes(tensor.datatype, tensor.shape))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A warm-up request made of zeros: what the first real request would otherwise pay for. */
import type { FieldTensor } from "./config-fields";
import { addMessage, quoted } from "./pbtxt-edit";

export function setWarmup(text: string, inputs: readonly FieldTensor[], batchSize: number): string {
  const samples = inputs
    .filter((input) => !input.optional)
    .map(({ name, datatype, dims }) => {
      const shape = dims.map((dim) => (dim > 0 ? dim : 1)).join(", ");
      return `inputs { key: ${quoted(name)} value { data_type: TYPE_${datatype || "FP32"} dims: [ ${shape} ] zero_data: true } }`;
    });
  return addMessage(text, "model_warmup", [`name: "zeros"`, `batch_size: ${batchSize}`, ...samples].join("\n    "));
}

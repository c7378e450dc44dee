/** A request as KServe v2 JSON. */
import type { BuiltInput } from "../tensor/built-input";
import { datatypeInfo, elementText } from "../tensor/datatypes";

/** Above so many elements the text would be unreadable, and slow. */
export const JSON_LIMIT = 4096;

export function requestJson(inputs: readonly BuiltInput[]): string {
  const parts = inputs.map((input) => {
    const { kind } = datatypeInfo(input.datatype);
    const data = Array.from(input.elements, (value) => (kind === "bytes" ? JSON.stringify(elementText(value)) : String(value)));
    return `    {\n      "name": ${JSON.stringify(input.name)},\n      "shape": [${input.shape.join(", ")}],\n      "datatype": "${input.datatype}",\n      "data": [${data.join(", ")}]\n    }`;
  });
  return `{\n  "inputs": [\n${parts.join(",\n")}\n  ]\n}`;
}

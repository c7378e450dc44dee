/** Saved cases as tensors, and tensors as saved cases. Pure. */
import type { TestCase, TestCaseInput } from "@/api/types";
import type { BuiltInput } from "@/inference/tensor/built-input";
import { base64, fromBase64, readRaw, wireData } from "@/inference/tensor/raw-bytes";
import type { Elements } from "@/inference/tensor/datatypes";

export interface CaseTensor {
  name: string;
  datatype: string;
  shape: number[];
  elements: Elements;
}

export function caseInputs(inputs: readonly BuiltInput[]): TestCaseInput["inputs"] {
  return inputs.map(({ name, datatype, shape, elements }) => {
    const data = wireData(datatype, elements);
    return { name, datatype, shape, data: "raw" in data ? { b64: base64(data.raw) } : [...data] };
  });
}

const SPECIAL: Record<string, number> = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

/** Throws when the data cannot be read. */
export function caseTensors(saved: Pick<TestCase, "inputs">): CaseTensor[] {
  return saved.inputs.map(({ name, datatype, shape, data }) => {
    if (Array.isArray(data)) {
      const values = data as (number | string | boolean)[];
      const elements =
        datatype === "BYTES" ? values : values.map((value) => (typeof value === "string" ? (SPECIAL[value] ?? value) : value));
      return { name, datatype, shape, elements };
    }
    return { name, datatype, shape, elements: readRaw(datatype, fromBase64((data as { b64: string }).b64)) };
  });
}

import type { Elements } from "./datatypes";

/** One input of a call, complete: its elements fill its shape. */
export interface BuiltInput {
  name: string;
  datatype: string;
  shape: number[];
  elements: Elements;
  bytes: number;
}

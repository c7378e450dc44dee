/** The call in view for grpcurl: protobuf's JSON, which carries every datatype. Pure; keys stay in the environment. */
import type { BuiltInput } from "../tensor/built-input";
import type { Parameters } from "../socket/messages";
import type { Element } from "../tensor/datatypes";
import { base64, rawBytes } from "../tensor/raw-bytes";
import { isLarge, KEY, shellQuoted, type CodeTarget } from "./target";

export const GRPC_FILE = "grpc-request.json";

const CONTENTS: Record<string, string> = {
  BOOL: "bool_contents",
  INT8: "int_contents",
  INT16: "int_contents",
  INT32: "int_contents",
  INT64: "int64_contents",
  UINT8: "uint_contents",
  UINT16: "uint_contents",
  UINT32: "uint_contents",
  UINT64: "uint64_contents",
  FP32: "fp32_contents",
  FP64: "fp64_contents",
  BYTES: "bytes_contents",
};

const encoder = new TextEncoder();

/** As protobuf's JSON writes it: bytes in base64; what JSON numbers cannot hold as text. */
function protoValue(datatype: string, value: Element | bigint): string | number | boolean {
  if (datatype === "BYTES") return base64(value instanceof Uint8Array ? value : encoder.encode(String(value)));
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  return typeof value === "boolean" ? value : String(value);
}

function protoParameters(parameters: Parameters) {
  const field = (value: Parameters[string]) =>
    typeof value === "boolean"
      ? { bool_param: value }
      : typeof value === "number"
        ? { int64_param: String(value) }
        : { string_param: value };
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, field(value)]));
}

/** Readable contents where there are some for every input, else raw ones for all: the protocol mixes them not. */
export function grpcRequest(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const readable = inputs.every((input) => input.datatype in CONTENTS && !isLarge(input));
  const request = {
    model_name: target.model,
    ...(target.version ? { model_version: target.version } : {}),
    ...(Object.keys(target.parameters).length > 0 ? { parameters: protoParameters(target.parameters) } : {}),
    inputs: inputs.map(({ name, datatype, shape, elements }) => ({
      name,
      datatype,
      shape,
      ...(readable ? { contents: { [CONTENTS[datatype] ?? ""]: Array.from(elements, (value) => protoValue(datatype, value)) } } : {}),
    })),
    ...(readable ? {} : { raw_input_contents: inputs.map(({ datatype, elements }) => base64(rawBytes(datatype, elements))) }),
  };
  return JSON.stringify(request);
}

// The server has no reflection, as Triton has none, so the messages come from Triton's own client.
const PROTOSET = [
  "from google.protobuf.descriptor_pb2 import FileDescriptorSet",
  "from tritonclient.grpc import model_config_pb2, service_pb2",
  "files = FileDescriptorSet()",
  "for part in (model_config_pb2, service_pb2):",
  "    part.DESCRIPTOR.CopyToProto(files.file.add())",
  'open("triton.protoset", "wb").write(files.SerializeToString())',
].join("\n");

export function grpcurl(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const large = inputs.some(isLarge);
  const method = target.decoupled ? "ModelStreamInfer" : "ModelInfer";
  return [
    "# once: Triton's messages, from pip install tritonclient[grpc]",
    `python3 -c ${shellQuoted(PROTOSET)}`,
    `export ${KEY}='<key of ${target.endpoint}>'`,
    `grpcurl ${target.caPath ? `-cacert ${shellQuoted(target.caPath)} ` : ""}-protoset triton.protoset \\`,
    `  -H "authorization: Bearer $${KEY}" -H ${shellQuoted(`x-shoal-endpoint: ${target.endpoint}`)} \\`,
    ...(target.deployment ? [`  -H ${shellQuoted(`x-shoal-deployment: ${target.deployment}`)} \\`] : []),
    `  -d ${large ? "@" : shellQuoted(grpcRequest(target, inputs))} \\`,
    `  ${shellQuoted(target.grpcTarget)} inference.GRPCInferenceService/${method}${large ? ` < ${GRPC_FILE}` : ""}`,
    "",
  ].join("\n");
}

/** The call in view as programs that make the same call. Pure; keys stay in the environment. */
import { t } from "@lingui/core/macro";
import { requestJson } from "./request-json";
import type { BuiltInput } from "../tensor/built-input";
import { datatypeInfo, elementText } from "../tensor/datatypes";
import { grpcurl } from "./grpcurl";
import { isLarge, KEY, shellQuoted, type CodeTarget } from "./target";

export const LANGUAGES = ["curl", "python_requests", "python_http", "python_grpc", "grpcurl", "javascript"] as const;
export type Language = (typeof LANGUAGES)[number];

export const LANGUAGE_LABELS: Record<Language, string> = {
  curl: "curl",
  python_requests: "Python requests",
  python_http: "tritonclient HTTP",
  python_grpc: "tritonclient gRPC",
  grpcurl: "grpcurl",
  javascript: "JavaScript",
};

/** `x_0.npy`: safe for every file system. */
export const fileName = (input: Pick<BuiltInput, "name">, end: string): string => `${input.name.replaceAll(/[^\w.-]/g, "_")}.${end}`;

/** Half floats travel as binary only, so programs that speak plain JSON cannot send them. */
const needsBinary = (inputs: readonly BuiltInput[]): boolean =>
  inputs.some(
    ({ datatype, elements }) =>
      datatype === "FP16" ||
      datatype === "BF16" ||
      Array.from(elements).some((value) => value instanceof Uint8Array || value === Infinity || value === -Infinity || Number.isNaN(value)),
  );

const quoted = (text: string): string => JSON.stringify(text);

function inferUrl(target: CodeTarget): string {
  const version = target.version ? `/versions/${encodeURIComponent(target.version)}` : "";
  return `${target.scoringUri}v2/models/${encodeURIComponent(target.model)}${version}/infer`;
}

function body(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const text = requestJson(inputs);
  if (Object.keys(target.parameters).length === 0) return text;
  return text.replace(/\n\}$/, `,\n  "parameters": ${JSON.stringify(target.parameters)}\n}`);
}

export const REQUEST_FILE = "request.json";

function curl(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const pin = target.deployment ? [`  -H "x-shoal-deployment: ${target.deployment}" \\`] : [];
  const data = inputs.some(isLarge) ? `@${REQUEST_FILE}` : shellQuoted(body(target, inputs));
  return [
    `export ${KEY}='<key of ${target.endpoint}>'`,
    target.caPath ? `curl --cacert ${shellQuoted(target.caPath)} \\` : "curl \\",
    `  -H "Authorization: Bearer $${KEY}" -H "Content-Type: application/json" \\`,
    ...pin,
    `  -d ${data} \\`,
    `  ${shellQuoted(inferUrl(target))}`,
    "",
  ].join("\n");
}

/** The whole body, for the file that curl sends. */
export const requestFile = body;

const indented = (text: string, by: number): string => text.replaceAll("\n", `\n${" ".repeat(by)}`);

function pythonRequests(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const json = inputs.some(isLarge)
    ? `json.load(open(${quoted(REQUEST_FILE)}))`
    : `json.loads(${`"""${body(target, inputs).replaceAll("\\", "\\\\")}"""`})`;
  return [
    "import json",
    "import os",
    "",
    "import requests",
    "",
    `body = ${json}`,
    "answer = requests.post(",
    `    ${quoted(inferUrl(target))},`,
    "    json=body,",
    `    headers={"Authorization": "Bearer " + os.environ[${quoted(KEY)}]${target.deployment ? `, "x-shoal-deployment": ${quoted(target.deployment)}` : ""}},`,
    ...(target.caPath ? [`    verify=${quoted(target.caPath)},`] : []),
    ")",
    "answer.raise_for_status()",
    'for output in answer.json()["outputs"]:',
    '    print(output["name"], output["shape"], output["data"])',
    "",
  ].join("\n");
}

const NUMPY: Record<string, string> = {
  BOOL: "bool_",
  FP16: "float16",
  BF16: "float32",
  FP32: "float32",
  FP64: "float64",
  BYTES: "object_",
};
const numpyType = (datatype: string): string => NUMPY[datatype] ?? datatype.toLowerCase();

function pythonValue(datatype: string, value: unknown): string {
  if (value instanceof Uint8Array)
    return `bytes.fromhex(${quoted(Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join(""))})`;
  if (datatype === "BYTES") return `${quoted(elementText(value as string))}.encode()`;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" && !Number.isFinite(value)) return `float("${String(value).toLowerCase().replace("infinity", "inf")}")`;
  return String(value);
}

function pythonArray(input: BuiltInput): string {
  if (isLarge(input) && input.datatype !== "BYTES") return `np.load(${quoted(fileName(input, "npy"))})`;
  const values = Array.from(input.elements, (value) => pythonValue(input.datatype, value)).join(", ");
  return `np.array([${values}], dtype=np.${numpyType(input.datatype)}).reshape(${JSON.stringify(input.shape)})`;
}

function pythonInputs(inputs: readonly BuiltInput[]): string[] {
  return inputs.flatMap((input) => [
    `tensor = triton.InferInput(${quoted(input.name)}, ${JSON.stringify(input.shape)}, ${quoted(input.datatype)})`,
    `tensor.set_data_from_numpy(${pythonArray(input)})`,
    "inputs.append(tensor)",
  ]);
}

function pythonArguments(target: CodeTarget): string {
  const { sequence_id: id, sequence_start: start, sequence_end: end } = target.parameters;
  return [
    target.version ? `, model_version=${quoted(target.version)}` : "",
    id === undefined
      ? ""
      : `, sequence_id=${JSON.stringify(id)}, sequence_start=${start ? "True" : "False"}, sequence_end=${end ? "True" : "False"}`,
  ].join("");
}

function pythonHttp(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const pin = target.deployment ? `, "x-shoal-deployment": ${quoted(target.deployment)}` : "";
  return [
    "import os",
    "",
    "import numpy as np",
    "import tritonclient.http as triton",
    "",
    "client = triton.InferenceServerClient(",
    `    ${quoted(target.scoringUri.replace(/^https?:\/\//, "").replace(/\/$/, ""))},`,
    "    ssl=True,",
    ...(target.caPath ? [`    ssl_options={"ca_certs": ${quoted(target.caPath)}},`] : []),
    ")",
    `headers = {"Authorization": "Bearer " + os.environ[${quoted(KEY)}]${pin}}`,
    "inputs = []",
    ...pythonInputs(inputs),
    `result = client.infer(${quoted(target.model)}, inputs, headers=headers${pythonArguments(target)})`,
    ...target.outputs.map((name) => `print(${quoted(name)}, result.as_numpy(${quoted(name)}))`),
    "",
  ].join("\n");
}

function pythonGrpc(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const pin = target.deployment ? `, "x-shoal-deployment": ${quoted(target.deployment)}` : "";
  const head = [
    "import os",
    ...(target.decoupled ? ["import queue"] : []),
    "",
    "import numpy as np",
    "import tritonclient.grpc as triton",
    "",
    "client = triton.InferenceServerClient(",
    `    ${quoted(target.grpcTarget)},`,
    "    ssl=True,",
    ...(target.caPath ? [`    root_certificates=${quoted(target.caPath)},`] : []),
    ")",
    "headers = {",
    `    "authorization": "Bearer " + os.environ[${quoted(KEY)}],`,
    `    "x-shoal-endpoint": ${quoted(target.endpoint)}${pin},`,
    "}",
    "inputs = []",
    ...pythonInputs(inputs),
  ];
  const prints = target.outputs.map((name) => `print(${quoted(name)}, result.as_numpy(${quoted(name)}))`);
  const call = `${quoted(target.model)}, inputs${pythonArguments(target)}`;
  if (!target.decoupled) return [...head, `result = client.infer(${call}, headers=headers)`, ...prints, ""].join("\n");
  return [
    ...head,
    "responses = queue.Queue()",
    "client.start_stream(lambda result, error: responses.put((result, error)), headers=headers)",
    `client.async_stream_infer(${call}, enable_empty_final_response=True)`,
    "while True:",
    "    result, error = responses.get()",
    "    if error is not None:",
    "        raise error",
    ...(prints.length > 0 ? ["    if result.get_response().outputs:", ...prints.map((line) => `        ${line}`)] : []),
    '    if result.get_response().parameters["triton_final_response"].bool_param:',
    "        break",
    "client.stop_stream()",
    "",
  ].join("\n");
}

function javascript(target: CodeTarget, inputs: readonly BuiltInput[]): string {
  const pin = target.deployment ? [`    "x-shoal-deployment": ${quoted(target.deployment)},`] : [];
  const data = inputs.some(isLarge)
    ? `await readFile(${quoted(REQUEST_FILE)}, "utf8")`
    : `JSON.stringify(${indented(body(target, inputs), 2)})`;
  return [
    target.caPath ? `// Node 20 or later; the gateway's own authority: NODE_EXTRA_CA_CERTS=${target.caPath}` : "// Node 20 or later",
    ...(inputs.some(isLarge) ? ['import { readFile } from "node:fs/promises";', ""] : []),
    `const answer = await fetch(${quoted(inferUrl(target))}, {`,
    '  method: "POST",',
    "  headers: {",
    `    Authorization: \`Bearer \${process.env.${KEY}}\`,`,
    '    "Content-Type": "application/json",',
    ...pin,
    "  },",
    `  body: ${data},`,
    "});",
    "if (!answer.ok) throw new Error(await answer.text());",
    "console.log((await answer.json()).outputs);",
    "",
  ].join("\n");
}

const WRITERS: Record<Language, (target: CodeTarget, inputs: readonly BuiltInput[]) => string> = {
  curl,
  python_requests: pythonRequests,
  python_http: pythonHttp,
  python_grpc: pythonGrpc,
  grpcurl,
  javascript,
};

export function snippet(language: Language, target: CodeTarget, inputs: readonly BuiltInput[]): string {
  return WRITERS[language](target, inputs);
}

const hasLongIntegers = ({ datatype, elements }: BuiltInput): boolean =>
  datatypeInfo(datatype).kind === "integer" &&
  Array.from(elements).some((value) => typeof value === "string" && !Number.isSafeInteger(Number(value)));

/** Why a language cannot make this call; null when it can. */
export function impossible(language: Language, target: CodeTarget, inputs: readonly BuiltInput[]): string | null {
  const overJson = language === "curl" || language === "python_requests" || language === "javascript";
  if (target.decoupled && language !== "python_grpc" && language !== "grpcurl")
    return t`This model answers several times: only a gRPC stream carries all of its responses.`;
  if (overJson && needsBinary(inputs))
    return t`FP16, BF16, NaN, infinite values and files travel as binary tensors, which JSON does not have. Use tritonclient or grpcurl.`;
  if (language === "javascript" && inputs.some(hasLongIntegers))
    return t`JavaScript numbers round whole numbers beyond 2^53. Use curl or Python.`;
  return null;
}

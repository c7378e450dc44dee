/** What the head of an ONNX file says: who wrote it, and the operators of its graph. Pure; no weights are read. */

export interface OnnxHead {
  irVersion: number | null;
  /** Name and version. */
  producer: string;
  graph: string;
  /** By operator, most frequent first. */
  operators: { name: string; count: number }[];
  nodes: number;
  /** The nodes stand first; false when the head ended among them. */
  complete: boolean;
  /** Where the graph with its weights ends: the versions of the operator sets stand behind it. */
  graphEnd: number;
}

interface Field {
  number: number;
  /** Of numbers. */
  value: number;
  /** Of texts, bytes and messages; may reach beyond the head. */
  start: number;
  end: number;
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

const MODEL = { irVersion: 1, producerName: 2, producerVersion: 3, graph: 7, opset: 8 };
const GRAPH = { node: 1, name: 2 };
const NODE = { operator: 4, domain: 7 };
const OPSET = { domain: 1, version: 2 };

/** A number of protobuf's, and where it ends; null at the end of the bytes. */
function varint(bytes: Uint8Array, at: number): { value: number; end: number } | null {
  let value = 0;
  for (let index = 0; index < 10; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return null;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return null;
}

/** The fields of a message, as far as the bytes go; null where they are no message. */
function* fields(bytes: Uint8Array, start: number, end: number): Generator<Field | null> {
  let at = start;
  while (at < Math.min(end, bytes.length)) {
    const tag = varint(bytes, at);
    if (tag === null) return;
    const [number, kind] = [Math.floor(tag.value / 8), tag.value % 8];
    if (number === 0) return yield null;
    if (kind === FIXED64 || kind === FIXED32) {
      at = tag.end + (kind === FIXED64 ? 8 : 4);
      continue;
    }
    if (kind !== VARINT && kind !== LENGTH) return yield null;
    const found = varint(bytes, tag.end);
    if (found === null) return;
    const length = kind === LENGTH ? found.value : 0;
    yield { number, value: found.value, start: found.end, end: found.end + length };
    at = found.end + length;
  }
}

const textOf = (bytes: Uint8Array, { start, end }: Field): string => new TextDecoder().decode(bytes.subarray(start, end));

function operatorOf(bytes: Uint8Array, node: Field): string {
  let [operator, domain] = ["", ""];
  for (const field of fields(bytes, node.start, node.end)) {
    if (field?.number === NODE.operator) operator = textOf(bytes, field);
    if (field?.number === NODE.domain) domain = textOf(bytes, field);
  }
  return domain === "" || domain === "ai.onnx" ? operator : `${domain}.${operator}`;
}

function readGraph(bytes: Uint8Array, graph: Field): Pick<OnnxHead, "graph" | "operators" | "nodes" | "complete"> {
  const counts = new Map<string, number>();
  let name = "";
  let complete = graph.end <= bytes.length;
  for (const field of fields(bytes, graph.start, graph.end)) {
    if (field === null) break;
    if (field.number !== GRAPH.node) {
      // Writers keep the order of the fields, so all nodes have passed.
      complete = true;
      if (field.number === GRAPH.name) name = textOf(bytes, field);
    } else if (field.end <= bytes.length) {
      const operator = operatorOf(bytes, field);
      counts.set(operator, (counts.get(operator) ?? 0) + 1);
    }
  }
  const operators = [...counts].map(([operator, count]) => ({ name: operator, count }));
  return {
    graph: name,
    operators: operators.sort((a, b) => b.count - a.count || a.name.localeCompare(b.name)),
    nodes: operators.reduce((sum, { count }) => sum + count, 0),
    complete,
  };
}

/** Null where the bytes are no ONNX model. */
export function onnxHead(bytes: Uint8Array): OnnxHead | null {
  const head: OnnxHead = { irVersion: null, producer: "", graph: "", operators: [], nodes: 0, complete: false, graphEnd: 0 };
  let version = "";
  for (const field of fields(bytes, 0, bytes.length)) {
    if (field === null) return null;
    if (field.number === MODEL.irVersion) head.irVersion = field.value;
    if (field.number === MODEL.producerName) head.producer = textOf(bytes, field);
    if (field.number === MODEL.producerVersion) version = textOf(bytes, field);
    if (field.number === MODEL.graph) Object.assign(head, readGraph(bytes, field), { graphEnd: field.end });
  }
  head.producer = [head.producer, version].filter(Boolean).join(" ");
  return head.irVersion === null || head.nodes === 0 ? null : head;
}

/** The operator sets, from what stands behind the graph: `17, com.microsoft 1`. Empty where none is told. */
export function opsetsOf(tail: Uint8Array): string {
  const found: string[] = [];
  for (const field of fields(tail, 0, tail.length)) {
    if (field === null) break;
    if (field.number !== MODEL.opset || field.end > tail.length) continue;
    let [domain, version] = ["", 0];
    for (const part of fields(tail, field.start, field.end)) {
      if (part?.number === OPSET.domain) domain = textOf(tail, part);
      if (part?.number === OPSET.version) version = part.value;
    }
    found.push(domain === "" || domain === "ai.onnx" ? String(version) : `${domain} ${version}`);
  }
  return found.join(", ");
}

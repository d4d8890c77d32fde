/** Writes tiny ONNX models (protocol buffers by hand), so that tests need no model from anywhere. */

type Part = readonly [field: number, value: number | string | Uint8Array];

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}

function message(...parts: readonly Part[]): Uint8Array {
  return Uint8Array.from(
    parts.flatMap(([field, value]) => {
      if (typeof value === 'number') return [...varint(field * 8), ...varint(value)];
      const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
      return [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
    }),
  );
}

const FLOAT = 1;
const INT64 = 7;
const STRING = 8;

/** `n` is a size that is not fixed. */
function value(name: string, type: number, dims: readonly (number | 'n')[]): Uint8Array {
  const shape = message(...dims.map((dim): Part => [1, message(dim === 'n' ? [2, dim] : [1, dim])]));
  return message([1, name], [2, message([1, message([1, type], [2, shape])])]);
}

function attribute(name: string, type: number, parts: readonly Part[]): Uint8Array {
  return message([1, name], ...parts, [20, type]);
}

function model(graph: Uint8Array, opsets: readonly Uint8Array[]): Uint8Array {
  return message([1, 7], [7, graph], ...opsets.map((opset): Part => [8, opset]));
}

/** Sums the two numbers that `table` has for each token: logits of the classes "ordinary" and "injection". */
export function bagOfTokens(table: readonly (readonly [number, number])[]): Uint8Array {
  const weights = message(
    [1, table.length],
    [1, 2],
    [2, FLOAT],
    [8, 'table'],
    [9, new Uint8Array(Float32Array.from(table.flat()).buffer)],
  );
  const gather = message([1, 'table'], [1, 'input_ids'], [2, 'rows'], [4, 'Gather']);
  const axes = attribute('axes', 7, [[8, 1]]);
  const keep = attribute('keepdims', 2, [[3, 0]]);
  const sum = message([1, 'rows'], [2, 'logits'], [4, 'ReduceSum'], [5, axes], [5, keep]);
  return model(
    message(
      [1, gather],
      [1, sum],
      [2, 'bag'],
      [5, weights],
      [11, value('input_ids', INT64, [1, 'n'])],
      [12, value('logits', FLOAT, [1, 2])],
    ),
    [message([1, ''], [2, 11])],
  );
}

/** Takes the text itself: 1 for one known text, 0 for every other. */
export function knownText(text: string): Uint8Array {
  const keys = attribute('keys_strings', 8, [[9, text]]);
  const floats = attribute('values_floats', 6, [[7, new Uint8Array(Float32Array.of(1).buffer)]]);
  // Field 2 of an attribute is a 32-bit float, wire type 5.
  const fallback = Uint8Array.from([...message([1, 'default_float']), ...varint(2 * 8 + 5), 0, 0, 0, 0, ...message([20, 1])]);
  const encoder = message(
    [1, 'text'],
    [2, 'score'],
    [4, 'LabelEncoder'],
    [5, keys],
    [5, floats],
    [5, fallback],
    [7, 'ai.onnx.ml'],
  );
  return model(message([1, encoder], [2, 'known'], [11, value('text', STRING, [1, 1])], [12, value('score', FLOAT, [1, 1])]), [
    message([1, ''], [2, 11]),
    message([1, 'ai.onnx.ml'], [2, 2]),
  ]);
}

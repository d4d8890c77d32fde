import { createClient } from '#core/client/client.ts';
import { type OperationName, operations, type Output, type RawInput } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import type { ErrorCode, FieldError } from '#core/errors.ts';

/** What a refused request says, as `application/problem+json`. */
export interface Problem {
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors: FieldError[];
  readonly request_id: string;
  readonly position?: number;
}

/** What else stands in the answer to an agent whose change waits for approval. */
interface Proposed {
  readonly proposed: true;
  readonly proposal_id: string;
}

/** `body` is the output of the operation, or the problem when it was refused: `status` says which. */
export interface Reply<N extends OperationName> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Output<N> & Omit<Partial<Problem & Proposed>, keyof Output<N>>;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Without the cookie of the last sign-in. */
  readonly anonymous?: boolean;
}

export interface Calls {
  /** Calls an operation of the contract; throws with the answer unless it succeeded with the status of the contract. */
  readonly call: <N extends OperationName>(name: N, input: RawInput<N>, options?: SendOptions) => Promise<Output<N>>;
  /** The same for any input, and returns the answer also when the operation refused it. */
  readonly send: <N extends OperationName>(name: N, input?: object, options?: SendOptions) => Promise<Reply<N>>;
}

type Fetch = (path: string, init: RequestInit, options: SendOptions) => Promise<Response>;

/** The operations of the contract as typed calls over the REST API of a server under test. */
export function callsOver(fetch: Fetch): Calls {
  const send: Calls['send'] = async (name, input = {}, options = {}) => {
    let reply: unknown;
    const client = createClient({
      base_url: '',
      ...(options.headers === undefined ? {} : { headers: options.headers }),
      fetch: async (path, init) => {
        const response = await fetch(path, init, options);
        const text = await response.clone().text();
        const json = (response.headers.get('content-type') ?? '').includes('json');
        const body: unknown = json && text !== '' ? JSON.parse(text) : { text };
        reply = { status: response.status, headers: response.headers, body };
        return response;
      },
    });
    await client(name, input as RawInput<typeof name>).catch((error: unknown) => {
      if (reply === undefined) throw error;
    });
    return reply as Reply<typeof name>;
  };
  return {
    send,
    async call(name, input, options) {
      const { status = 200, waits = false }: Operation = operations[name];
      const reply = await send(name, input, options);
      if (reply.status !== status && !(waits && reply.status === 200))
        throw new Error(`${name} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
      return reply.body;
    },
  };
}

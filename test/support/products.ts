import { fileURLToPath } from 'node:url';
import { atEnd } from './at-end.ts';
import { addressOf, type Product, productAt, type ProductOptions, variablesOf } from './programs.ts';

export type ProductRequest =
  | { readonly kind: 'start'; readonly id: number; readonly variables: Record<string, string> }
  | { readonly kind: 'stop'; readonly id: number };
export type ProductMessage =
  | { readonly kind: 'started'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string }
  | { readonly kind: 'printed'; readonly id: number; readonly text: string };

const PROGRAM = fileURLToPath(new URL('./products-program.ts', import.meta.url));

interface ProductsProcess {
  readonly child: Bun.Subprocess;
  readonly listeners: Map<number, (message: ProductMessage) => void>;
}

/** One for every file that this process tests; it ends with the process, whose end it notices. */
let shared: ProductsProcess | null = null;
let last_id = 0;

function productsProcess(): ProductsProcess {
  if (shared !== null) return shared;
  const listeners: ProductsProcess['listeners'] = new Map();
  const child = Bun.spawn([process.execPath, PROGRAM], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
    ipc: (message: ProductMessage) => listeners.get(message.id)?.(message),
  });
  child.unref();
  void child.exited.then(() => (shared = null));
  // What it cost is counted once it is waited for.
  atEnd.push(async () => {
    child.disconnect();
    await child.exited;
  });
  return (shared = { child, listeners });
}

/**
 * A fresh installation with a folder, a metadata database and ports of its own, whose server, host and agent run in a process that
 * every test file of this one shares: what takes three programs seconds takes a warm process a tenth of it. Passwords are hashed with
 * little work. Ready when the demo is deployed, unless the environment turns it off.
 */
export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const { child, listeners } = productsProcess();
  const address = addressOf(options);
  const id = (last_id += 1);
  let printed = '';
  const started = Promise.withResolvers<void>();
  listeners.set(id, (message) => {
    if (message.kind === 'printed') printed += message.text;
    else if (message.kind === 'started') started.resolve();
    else started.reject(new Error(`${message.reason}\n${printed}`));
  });
  const send = (request: ProductRequest) => child.send(request);
  void child.exited.then((code) => started.reject(new Error(`The process of the products ended with code ${code}.`)));
  send({ kind: 'start', id, variables: variablesOf(address, options) });
  await started.promise;
  return {
    ...productAt(address, () => printed),
    // The next file need not wait until its streams, pools and listeners are closed.
    async stop() {
      send({ kind: 'stop', id });
    },
  };
}

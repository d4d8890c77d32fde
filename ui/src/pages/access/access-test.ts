import { createSignal } from 'solid-js';
import { createMcpClient, type Era, type McpClientOptions, type Refusal } from '#ui/src/features/run/mcp-client.ts';

interface Reached {
  readonly tools: readonly string[];
  readonly ms: number;
  readonly host: string | undefined;
}

interface AccessTest {
  readonly busy: () => boolean;
  readonly reached: () => Reached | undefined;
  readonly refusal: () => Refusal | undefined;
  run(token: string): Promise<void>;
}

/** Asks the deployed endpoint for its tools, as a client would. */
export function createAccessTest(options: Pick<McpClientOptions, 'send' | 'onSessionEnd'> & { readonly era?: Era }): AccessTest {
  const { era = '2026-07-28', ...rest } = options;
  const [busy, setBusy] = createSignal(false);
  const [reached, setReached] = createSignal<Reached>();
  const [refusal, setRefusal] = createSignal<Refusal>();
  return {
    busy,
    reached,
    refusal,
    async run(token) {
      if (busy()) return;
      setBusy(true);
      setReached(undefined);
      setRefusal(undefined);
      const client = createMcpClient({ ...rest, era, token: () => token, onExchange: () => undefined });
      const began = performance.now();
      try {
        const answer = await client.list('tools/list', 'tools');
        if (!answer.ok) {
          setRefusal(answer.refusal);
          return;
        }
        const names = (answer.items ?? []).map((item) => (typeof item['name'] === 'string' ? item['name'] : ''));
        setReached({ tools: names, ms: performance.now() - began, host: client.host() });
      } finally {
        setBusy(false);
        await client.close();
      }
    },
  };
}

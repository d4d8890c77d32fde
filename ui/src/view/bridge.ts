import { isMembers, type Members } from '#core/lib/view/table.ts';

/** The client that shows the page (MCP Apps, 2026-01-26): JSON-RPC by `postMessage`. */
export interface Bridge {
  /** Opens the conversation; answers with what the client can, and how it looks. */
  open(): Promise<{ capabilities: Members; context: Members }>;
  request(method: string, params: Members): Promise<Members>;
  notify(method: string, params: Members): void;
}

const VERSION = '2026-01-26';
export const UI = 'ui/notifications/';

interface Waiting {
  readonly resolve: (result: Members) => void;
  readonly reject: (error: Error) => void;
}

/** @param onNotification without the common beginning of their names. @param onTeardown the client takes the page away. */
export function createBridge(onNotification: (name: string, params: Members) => void, onTeardown: () => void): Bridge {
  const client = window.parent;
  const waiting = new Map<number, Waiting>();
  let last = 0;
  const send = (message: Members) => client.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const answer = ({ id, method }: Members): void => {
    if (method === 'ui/resource-teardown') onTeardown();
    const known = method === 'ui/resource-teardown' || method === 'ping';
    send({ id, ...(known ? { result: {} } : { error: { code: -32_601, message: 'Method not found' } }) });
  };
  window.addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
    if (source !== client || !isMembers(data) || data['jsonrpc'] !== '2.0') return;
    const { id, method, params, result, error } = data;
    if (typeof method === 'string') {
      if (id !== undefined) return answer(data);
      if (method.startsWith(UI)) onNotification(method.slice(UI.length), isMembers(params) ? params : {});
      return;
    }
    const waits = typeof id === 'number' ? waiting.get(id) : undefined;
    if (waits === undefined) return;
    waiting.delete(id as number);
    if (isMembers(result)) waits.resolve(result);
    else waits.reject(new Error(isMembers(error) ? String(error['message']) : 'The client gave no answer.'));
  });
  const request: Bridge['request'] = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      send({ id, method, params });
    });
  const notify: Bridge['notify'] = (method, params) => send({ method, params });
  return {
    request,
    notify,
    async open() {
      const { hostCapabilities, hostContext } = await request('ui/initialize', {
        appInfo: { name: 'sluice-view', version: '1' },
        appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
        protocolVersion: VERSION,
      });
      notify(`${UI}initialized`, {});
      return {
        capabilities: isMembers(hostCapabilities) ? hostCapabilities : {},
        context: isMembers(hostContext) ? hostContext : {},
      };
    },
  };
}

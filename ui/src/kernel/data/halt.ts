import { routes } from '#core/contract/routes.ts';
import type { Call } from '#ui/src/api.ts';

/** Ends a halt: reads that waited are sent, or given up when nobody may read any more; then later ones are too, until `open`. */
type Resume = (send: boolean) => void;

/**
 * Calls whose reads can be given up all at once: while a session ends, each of them would be refused, and the browser would report it.
 * Reads that need nobody's credentials and those of `auth` go on, because signing in needs them.
 */
export function createHaltingCall(call: Call): { readonly call: Call; readonly halt: () => Resume; readonly open: () => void } {
  let halted: Promise<boolean> | undefined;
  let over = new AbortController();
  return {
    async call(name, input, signal, file) {
      const { method, least } = routes[name];
      if (method !== 'GET' || least === null || name.startsWith('auth.')) return call(name, input, signal, file);
      if (halted !== undefined && !(await halted)) throw new DOMException('The session has ended.', 'AbortError');
      return call(name, input, signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]), file);
    },
    halt() {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      halted = promise;
      over.abort();
      over = new AbortController();
      return (send) => {
        if (send && halted === promise) halted = undefined;
        resolve(send);
      };
    },
    open() {
      halted = undefined;
    },
  };
}

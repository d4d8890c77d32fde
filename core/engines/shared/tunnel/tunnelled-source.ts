import type { SshOf } from '#core/contract/definitions/connection-fields.ts';
import { NO_ESTIMATE } from '../plans/estimate.ts';
import type { DialPolicy, Source } from '../source.ts';
import { createTunnel, TUNNEL_TIMING, type TunnelTiming } from './tunnel.ts';

/** Opens a source whose sessions go through one SSH tunnel. It is closed with the source. */
export function openTunnelled(
  ssh: SshOf<string>,
  policy: DialPolicy,
  open: (policy: DialPolicy) => Source,
  timing: TunnelTiming = TUNNEL_TIMING,
): Source {
  const tunnel = createTunnel(ssh, policy, timing);
  const has = open({ ...policy, tunnel });
  const run = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const began = performance.now();
    try {
      return await work();
    } catch (error) {
      throw await tunnel.explain(error, began);
    }
  };
  // A method is absent where the engine does not have it.
  return {
    ...has,
    query: (...args) => run(() => has.query(...args)),
    stream: (...args) => run(() => has.stream(...args)),
    describe: (...args) => run(() => has.describe(...args)),
    ...(has.describeAll && { describeAll: (...args) => run(() => has.describeAll?.(...args) ?? Promise.resolve([])) }),
    ...(has.origins && { origins: (...args) => run(() => has.origins?.(...args) ?? Promise.resolve([])) }),
    ...(has.schemaMark && { schemaMark: () => run(() => has.schemaMark?.() ?? Promise.resolve(null)) }),
    ...(has.grammar && { grammar: () => run(() => has.grammar?.() ?? Promise.resolve('')) }),
    ...(has.explain && { explain: (...args) => run(() => has.explain?.(...args) ?? has.query(args[0], args[2])) }),
    ...(has.estimate && { estimate: (...args) => run(() => has.estimate?.(...args) ?? Promise.resolve(NO_ESTIMATE)) }),
    ...(has.pipelineSlot && {
      pipelineSlot(statement, sessions) {
        const slot = has.pipelineSlot?.(statement, sessions) ?? null;
        return slot && { query: (options) => run(() => slot.query(options)) };
      },
    }),
    tables: (...args) => run(() => has.tables(...args)),
    columns: (...args) => run(() => has.columns(...args)),
    indexes: (...args) => run(() => has.indexes(...args)),
    ...(has.cannotRollBack && { cannotRollBack: (text) => run(() => has.cannotRollBack?.(text) ?? Promise.resolve(null)) }),
    ...(has.cannotCount && { cannotCount: (text) => run(() => has.cannotCount?.(text) ?? Promise.resolve(null)) }),
    ...(has.hosts && { hosts: () => run(() => has.hosts?.() ?? Promise.resolve([])) }),
    test: () => run(() => has.test()),
    async close() {
      await has.close();
      tunnel.close();
    },
  };
}

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { AppError } from '#core/errors.ts';
import { dropIdle } from '#core/proposals/overlays.ts';
import type { RequestContext } from '#core/context/context.ts';
import { run } from '#core/control-plane/run.ts';
import { ordersTool, type ProposingShop, proposingShop } from './shop.ts';

let shop: ProposingShop;
let app: ControlPlane;
beforeAll(async () => {
  shop = await proposingShop({ metadata: 'sqlite' });
  ({ app } = shop.t);
});
afterAll(() => shop.t.close());

const CALL: RequestContext = {
  actor: { type: 'agent_token', id: 'claude', name: 'Claude', scopes: ['propose'] },
  ip: null,
  user_agent: null,
  request_id: 'overlays',
};
const propose = (on: ControlPlane, name: string) =>
  run(on, 'tools.create', ordersTool(shop.connection_id, { name }) as never, CALL);

test('an operation that could not be stored is in the proposal once it is sent again', async () => {
  const first = await propose(app, 'first');
  for (const fault of [new AppError('unavailable', 'The disk is full.'), new Error('the connection was lost')]) {
    const name = fault instanceof AppError ? 'second' : 'third';
    const full: ControlPlane = { ...app, store: { ...app.store, write: () => Promise.reject(fault) } };
    expect(await propose(full, name).catch(String)).toContain(fault.message);
    expect(await propose(app, name)).toMatchObject({ name, version: 1, proposed: true });
  }
  const { operations } = await shop.t.call('proposals.get', { id: String(Reflect.get(first, 'proposal_id')) });
  expect(operations.map(({ summary }) => summary)).toEqual(['first', 'second', 'third'].map((name) => `Create tool ${name}`));
});

test('what an operation itself refuses leaves the proposal open for the next one', async () => {
  await propose(app, 'fourth');
  const before = [...app.overlays.open.values()];
  expect(await propose(app, 'fourth').catch(String)).toContain('already');
  await propose(app, 'fifth');
  expect([...app.overlays.open.values()]).toEqual(before);
});

test('a proposal that is not written to is freed without anybody asking', async () => {
  await propose(app, 'sixth');
  await dropIdle(app);
  expect(app.overlays.open.size).toBe(1);
  await dropIdle(app, -1);
  expect(app.overlays.open.size).toBe(0);
});

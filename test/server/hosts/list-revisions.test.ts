import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { raiseRevision, readRevision } from '#core/hosts/confirmed-lists.ts';
import { tokensEvent } from '#core/identity/mcp-tokens.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';

const DAY_MS = 24 * 3_600_000;

describe.each([...namedStores])('the revision of a list that hosts are sent (%s)', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
  });
  afterEach(() => t.close());
  const raise = () => t.app.store.write((tx) => raiseRevision(t.app, tx, 'tokens'));
  const read = () => readRevision(t.app, 'tokens');

  test('rises with each change, whatever the clock says, and with both of two at once', async () => {
    await t.signIn();
    const before = await read();
    const made = await t.call('mcp_tokens.create', { name: 'Claude', all_toolsets: true });
    const after_first = await read();
    t.advance(-DAY_MS);
    await t.call('mcp_tokens.delete', { id: made.id });
    expect([after_first - before, (await read()) - before]).toEqual([1, 2]);
    await Promise.all([raise(), raise(), raise()]);
    expect((await read()) - before).toBe(5);
    expect(await tokensEvent(t.app)).toMatchObject({ data: { list: `tokens:${before + 5}` } });
  });

  test('is one for each list', async () => {
    const identity = await readRevision(t.app, 'identity');
    await raise();
    expect(await readRevision(t.app, 'identity')).toBe(identity);
  });
});

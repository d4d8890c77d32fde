import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { operations } from '#core/contract/index.ts';
import { ToolsetDraft } from '#core/contract/definitions/toolsets.ts';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import { createForm, inLabels } from '#ui/src/kernel/form/form.ts';
import { NEW, ProviderFields, rolesOf } from '#ui/src/pages/settings/providers/provider-draft.ts';
import { claimsOf, claimTags } from '#ui/src/pages/settings/required-claims.ts';
import { outcomeOf } from '#ui/src/pages/settings/webhooks/outcome.ts';
import { namesOf, pickFaults, picksOf, unknownFault } from '#ui/src/pages/toolsets/picks.ts';

const ISSUER = { issuer: 'https://login.example.com', audience: 'https://mcp.example.com/mcp' };

const CLAIMS: Readonly<Record<string, string>> = { tid: '8f2c' };

describe('required claims of an issuer', () => {
  const form = () =>
    createForm({
      schema: ServerConfigPatch,
      initial: () => ({ jwt_issuers: [{ ...ISSUER, required_claims: CLAIMS }] }),
      submit: async (values) => values,
    });

  test('an invalid or repeated claim keeps the issuer from being saved, and stays in sight', async () => {
    for (const [tags, fault] of [
      [['tid 8f2c'], 'tid 8f2c: write a claim as name=value.'],
      [['tid=8f2c', 'tid='], 'tid=: write a claim as name=value.'],
      [['tid=8f2c', ' =b'], ' =b: write a claim as name=value.'],
      [['tid=a', 'tid=b'], 'tid is listed twice. Require one value per claim.'],
    ] as const) {
      const it = form();
      const read = claimsOf(tags);
      it.set('jwt_issuers.0.required_claims', read.value);
      expect([read.fault, it.dirty(), await it.submit()]).toEqual([fault, true, false]);
      expect(it.errorWithin('jwt_issuers.0.required_claims')).toBeDefined();
      expect(claimTags(read.value)).toEqual([...tags]);
      expect(claimsOf(claimTags(read.value)).fault).toBe(fault);
    }
  });

  test('claims are saved as they were typed', async () => {
    const it = form();
    it.set('jwt_issuers.0.required_claims', claimsOf(['tid=8f2c', 'azp = a=b']).value);
    expect(await it.submit()).toBe(true);
    expect(it.snapshot().jwt_issuers[0]?.required_claims).toEqual({ tid: '8f2c', azp: 'a=b' });
    expect(claimsOf(claimTags({ tid: '8f2c', azp: 'a=b' }))).toEqual({ value: { tid: '8f2c', azp: 'a=b' } });
    expect(claimsOf([])).toEqual({ value: {} });
  });
});

test('two lines with one group keep a provider from being saved; a line without a group counts for nothing', () => {
  const it = createForm({
    schema: ProviderFields,
    initial: () => ({ ...NEW, name: 'Shop', issuer: ISSUER.issuer, client_id: 'sluice' }),
    submit: async () => undefined,
  });
  it.set('role_by_group', [
    { group: 'sales', role: 'viewer' },
    { group: 'sales ', role: 'admin' },
  ]);
  expect([it.validate(), it.errorWithin('role_by_group')]).toEqual([false, 'Must have the group sales only once.']);
  it.set('role_by_group', [
    { group: 'sales', role: 'viewer' },
    { group: '', role: 'admin' },
  ]);
  expect([it.validate(), rolesOf(it.snapshot().role_by_group)]).toEqual([true, { sales: 'viewer' }]);
});

test('a connection that does not exist keeps a toolset from being saved, and stays in sight', () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057';
  const from = [{ id, name: 'orders' }];
  const it = createForm({
    schema: ToolsetDraft,
    check: pickFaults,
    initial: () => v.parse(ToolsetDraft, { name: 'shop' }),
    submit: async () => undefined,
  });
  const picks = picksOf(['orders', 'order_delete'], from);
  it.set('exclude.connection_ids', picks);
  expect([it.validate(), it.error('exclude.connection_ids')]).toEqual([false, unknownFault(picks)]);
  expect(namesOf(picks, from)).toEqual(['orders', 'order_delete']);
  it.set('exclude.connection_ids', picksOf(['orders'], from));
  expect([it.validate(), it.snapshot().exclude.connection_ids]).toEqual([true, [id]]);
  // Deleted since: not shown, and no fault of the person.
  expect([namesOf([id], []), unknownFault([id])]).toEqual([[], undefined]);
});

test('what came of a test event is said as it is', () => {
  const said = outcomeOf((status) => `Chat answered ${status}.`);
  const delivery = {
    id: '1',
    event: 'test',
    attempts: 1,
    created_at: '2026-01-01T00:00:00.000Z',
    last_attempt_at: null,
    next_attempt_at: null,
  };
  expect(said({ ...delivery, status: 'delivered', response_status: 200, error: null })).toBe('Chat answered 200.');
  expect(said({ ...delivery, status: 'failed', response_status: 500, error: 'The URL answered 500.' })).toEqual({
    bad: 'The event was not delivered. The URL answered 500.',
  });
});

test('a sentence about an entry of a list names the list as the form does', () => {
  const schema = operations['oauth_apps.create'].input;
  const refused = { code: 'invalid', errors: [], detail: 'redirect_uris.0 has a scheme that runs code or reads files.' } as const;
  expect(inLabels(refused, schema).detail).toBe('Entry 1 of Redirect addresses has a scheme that runs code or reads files.');
  expect(inLabels({ ...refused, detail: 'It takes 1.5 s.' }, schema).detail).toBe('It takes 1.5 s.');
});

import { describe, expect, test } from 'bun:test';
import type { Mask } from '#core/contract/definitions/masks.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { argumentMasks } from '#core/query/argument-masks.ts';
import type { TracedColumn } from '#core/query/masks.ts';
import { engineOf } from '#core/engines/index.ts';

const { dialect } = engineOf('postgresql');
const column = (name: string, origin: string | null = name): TracedColumn => ({ name, type: 'text', kind: 'string', origin });
const parameter = (name: string, more: Partial<Parameter> = {}): Parameter => ({
  name,
  type: 'string',
  description: '',
  required: true,
  ...more,
});
const EMAIL: Mask = { column: 'email', mask: 'email', unless_groups: [] };

/** @param columns of the result; `contact<email` is the column email under another name. */
function masksOf(sql_query: string, names: string, { columns = 'id status email', masks = [EMAIL] } = {}) {
  const traced = columns.split(' ').map((text) => {
    const [name = '', origin = name] = text.split('<');
    return column(name, origin === '' ? null : origin);
  });
  const parameters = names.split(' ').map((name) => parameter(name));
  return argumentMasks({ sql_query, parameters, masks }, traced, dialect);
}

const STARS = { who: 'text', a: 'text' };

describe('an argument of a tool with masks is kept', () => {
  const FROM = 'select id, status, email from people where';

  test.each([
    ['under the mask of the column that has its name', `${FROM} lower(x) = :email`, 'email', { email: 'email' }],
    ['under the mask of a column that it is compared with', `${FROM} email = :who`, 'who', { who: 'email' }],
    ['in any case', `${FROM} p."EMAIL" like :who`, 'who', { who: 'email' }],
    ['in a list', `${FROM} email in (:who)`, 'who', { who: 'email' }],
    ['from the other side', `${FROM} :who = email`, 'who', { who: 'email' }],
    ['wherever the name stands a second time', `${FROM} status = :x or email = :x`, 'x', { x: 'email' }],
    ['as it was sent, with a column that callers see', `${FROM} status = :status and id > :after_id`, 'status after_id', {}],
    ['as it was sent, where it may be left out', `${FROM} (:x is null or :x::text is not null or status = :x)`, 'x', {}],
    ['as it was sent, as a limit', `${FROM} id > 1 limit :most offset :skip`, 'most skip', {}],
    ['as stars, in an expression', `${FROM} lower(email) = lower(:who)`, 'who', { who: 'text' }],
    ['as stars, in an expression that ends with a column', `${FROM} email || id = :who and id::text = :a`, 'who a', STARS],
    ['as stars, in an expression that begins with a column', `${FROM} :who = id || email or :a = id::text`, 'who a', STARS],
    ['as stars, compared in other words', `${FROM} :who is not distinct from email`, 'who', { who: 'text' }],
    ['as stars, with a column that nobody sees', `${FROM} phone = :phone`, 'phone', { phone: 'text' }],
    ['as stars, where the statement does not use it', `${FROM} id = 1`, 'spare', { spare: 'text' }],
  ])('%s', (_, sql, names, masks) => {
    expect(masksOf(sql, names)).toEqual(masks as never);
  });

  test('under the mask of a column that the result has under another name', () => {
    const contact = { columns: 'id contact<email', masks: [{ ...EMAIL, column: 'contact' }] };
    expect(masksOf('select id, email as contact from people where email = :who', 'who', contact)).toEqual({ who: 'email' });
    const unknown = { columns: 'id contact<', masks: [{ ...EMAIL, column: 'contact' }] };
    expect(masksOf('select id, upper(email) as contact from people where email = :who', 'who', unknown)).toEqual({ who: 'text' });
    const untold = { ...unknown, columns: '' };
    expect(masksOf('select email as contact from people where email = :who', 'who', untold)).toEqual({ who: 'text' });
  });

  test('also of callers who see the column: the log is read by others', () => {
    const masks = [{ ...EMAIL, unless_groups: ['support'] }];
    expect(masksOf(`${FROM} email = :who`, 'who', { masks })).toEqual({ who: 'email' });
  });

  test('never when it comes from the credential of the caller, and as it was sent where there are no masks', () => {
    const [statement, own] = [`${FROM} email = :who and id = :tenant`, parameter('tenant', { from: 'caller.id' })];
    const query = { sql_query: statement, parameters: [parameter('who'), own], masks: [EMAIL] };
    expect(argumentMasks(query, [column('id'), column('email')], dialect)).toEqual({ who: 'email' });
    expect(argumentMasks({ ...query, masks: [] }, null, dialect)).toEqual({});
  });
});

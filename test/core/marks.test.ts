import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { FROZEN_SETTINGS, ServerConfigPatch } from '#core/contract/settings/config.ts';
import { ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import { field, labelsIn, marksOf } from '#core/contract/marks.ts';
import { refuseFields } from '#core/context/token-limits.ts';
import { choicesOf, fieldOf, kindOf } from '#ui/src/fields/kind.ts';
import { PART_NAMES, PARTS } from '#ui/src/pages/settings/settings-draft.ts';

const { version: _version, ...settings } = ServerConfigPatch.entries;

describe('what a field says of itself', () => {
  test('every setting and every field of a definition has a label', () => {
    expect(Object.keys(labelsIn(settings)).toSorted()).toEqual(Object.keys(settings).toSorted());
    for (const kind of ENTITY_KINDS) {
      const { entries } = ENTITIES[kind].draft;
      expect([kind, Object.keys(labelsIn(entries))]).toEqual([kind, Object.keys(entries)]);
    }
  });

  test('its kind and bounds come from its schema', () => {
    const shape = v.strictObject({
      wait: v.optional(field(v.nullable(v.pipe(v.number(), v.minValue(1), v.maxValue(9))), { label: 'Wait', unit: 's' }), null),
    });
    expect(fieldOf(shape, 'wait')).toEqual({
      kind: { type: 'number', nullable: true, least: 1, most: 9, values: [] },
      marks: { label: 'Wait', unit: 's' },
    });
    const { read_only, ssl_mode } = { ...ENTITIES.tool.draft.entries, ...ENTITIES.connection.draft.entries };
    expect(kindOf(read_only)).toMatchObject({ type: 'flag', nullable: false });
    expect(choicesOf(kindOf(ssl_mode), marksOf(ssl_mode) ?? { label: '' }).map(({ value }) => value)).toEqual([
      'null',
      'disable',
      'require',
      'verify-ca',
      'verify-full',
    ]);
  });

  test('a field that is not marked as open is closed to tokens, and may keep the value that it has', () => {
    const entries = {
      name: field(v.string(), { label: 'Name', open: true }),
      owner: v.optional(field(v.nullable(v.string()), { label: 'Owner' }), null),
    };
    const token = { type: 'agent_token', id: 'a', name: 'script', scopes: ['write'] } as const;
    const before = { name: 'a', owner: 'ada' };
    expect(() => refuseFields(token, entries, before, { name: 'b', owner: 'ada' })).not.toThrow();
    expect(() => refuseFields(token, entries, null, { name: 'b', owner: null })).not.toThrow();
    expect(() => refuseFields(token, entries, before, { name: 'a', owner: 'eve' })).toThrow(/owner can be changed only by/);
    expect(() => refuseFields(token, entries, null, { name: 'a', owner: 'eve' })).toThrow(/owner can be changed only by/);
    expect(() =>
      refuseFields({ ...token, type: 'admin', role: 'admin' }, entries, before, { name: 'a', owner: 'eve' }),
    ).not.toThrow();
  });
});

test('every setting stands on one page, and what one page changes takes effect at one time', () => {
  const shown = PART_NAMES.flatMap((part): readonly string[] => PARTS[part].fields);
  expect(shown.toSorted()).toEqual(Object.keys(settings).toSorted());
  for (const part of PART_NAMES) {
    expect([part, new Set(PARTS[part].fields.map((name) => FROZEN_SETTINGS.has(name))).size]).toEqual([part, 1]);
  }
});

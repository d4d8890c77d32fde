import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { FROZEN_SETTINGS, ServerConfigPatch } from '#core/contract/settings/config.ts';
import { ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import { operations } from '#core/contract/index.ts';
import { field, labelsIn, marked, marksOf } from '#core/contract/marks.ts';
import type { Operation } from '#core/contract/operation.ts';
import { refuseFields } from '#core/context/token-limits.ts';
import { choicesOf, fieldOf, kindOf, presetsOf, rowFieldsOf } from '#ui/src/fields/kind.ts';
import { PART_NAMES, PARTS, effectOf } from '#ui/src/pages/settings/settings-draft.ts';

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

  test('every value of a closed list has a label', () => {
    const lists = Object.values<Operation>(operations).flatMap(({ input }) =>
      'entries' in input ? marked(input.entries as v.ObjectEntries).map(([name]) => ({ name, ...fieldOf(input, name) })) : [],
    );
    const unlabelled = lists
      .filter(({ kind, marks }) => kind.type === 'choice' || marks.choices !== undefined)
      .flatMap(({ name, kind, marks }) =>
        kind.values.filter((value) => marks.choices?.[value] === undefined).map((value) => `${name}: ${value}`),
      );
    expect(unlabelled).toEqual([]);
    expect(lists.length).toBeGreaterThan(100);
  });

  test('a form reads fields within the rows of a list, and numbers to choose from', () => {
    const row = v.object({ issuer: field(v.string(), { label: 'Issuer' }), version: v.number() });
    const shape = v.strictObject({
      issuers: v.optional(field(v.array(row), { label: 'Issuers' })),
      idle: field(v.nullable(v.number()), {
        label: 'Idle',
        unit: 'minutes',
        presets: [60, 1_440],
        choices: { null: { label: 'Never' } },
      }),
    });
    expect(fieldOf(shape, 'issuers.3.issuer').marks.label).toBe('Issuer');
    expect(() => fieldOf(shape, 'issuers.3.owner')).toThrow('issuers.3.owner');
    expect(rowFieldsOf(shape, 'issuers')).toEqual(['issuer']);
    const { kind, marks } = fieldOf(shape, 'idle');
    const labels = (current: unknown) => presetsOf(kind, marks, current).map(({ value, label }) => `${value} ${label}`);
    expect(labels(60)).toEqual(['null Never', '60 1 hour', '1440 1 day']);
    // A stored one that the form does not offer stays selected.
    expect(labels(90)).toEqual(['null Never', '60 1 hour', '1440 1 day', '90 90 minutes']);
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

test('every setting stands on one page, and each page says when its changes take effect', () => {
  const shown = PART_NAMES.flatMap((part): readonly string[] => PARTS[part].fields);
  expect(shown.toSorted()).toEqual(Object.keys(settings).toSorted());
  expect(Object.fromEntries(PART_NAMES.map((part) => [part, effectOf(PARTS[part].fields)]))).toEqual({
    // Their sections say it: the hours of logged arguments, the agent endpoint and allowed references take effect when they are saved.
    general: 'both',
    auth: 'both',
    tls: 'save',
    variables: 'deploy',
    guard: 'save',
    sign_in: 'save',
    checks: 'save',
    audit: 'save',
  });
  expect(PARTS.general.fields.filter((name) => !FROZEN_SETTINGS.has(name))).toEqual([
    'log_arguments_hours',
    'agent_enabled',
    'agent_rate_limit',
  ]);
});

import { expect, test } from 'bun:test';
import { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import { ResourceDraft } from '#core/contract/definitions/resources.ts';
import { ToolDraft } from '#core/contract/definitions/tools.ts';
import { ToolsetDraft } from '#core/contract/definitions/toolsets.ts';
import { operations } from '#core/contract/index.ts';
import { isAdministered } from '#ui/src/fields/kind.ts';

test('forms leave to administrators what saving refuses of others, and no field of other forms', () => {
  const closed = (schema: { readonly entries: object }) =>
    Object.keys(schema.entries).filter((name) => isAdministered(schema as never, name));
  expect(closed(ToolDraft)).toEqual(['masks', 'log_arguments', 'two_step']);
  expect(closed(ResourceDraft)).toEqual(['masks']);
  expect(closed(ToolsetDraft)).toEqual(['files', 'groups']);
  expect(closed(ConnectionDraft)).toEqual(['session_values', 'session_role']);
  expect(closed(operations['people.create'].input)).toEqual([]);
});

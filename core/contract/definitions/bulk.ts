import * as v from 'valibot';
import { Id, listOf, MOST_AT_ONCE, Tags, Version } from '../fields.ts';
import { operation } from '../operation.ts';

const TaggedKind = v.picklist(['tool', 'resource', 'prompt']);
const Change = v.strictObject({
  id: Id,
  version: v.optional(Version),
  enabled: v.optional(v.boolean()),
  tags: v.pipe(v.optional(Tags), v.description('Connections have none')),
});

/** Changes several definitions of one kind in one request. */
export const bulk = {
  'definitions.update': operation('PATCH /definitions', 'session', {
    role: 'editor',
    input: v.strictObject({
      kind: v.picklist([...TaggedKind.options, 'connection']),
      items: v.pipe(
        v.array(Change),
        v.minLength(1),
        v.maxLength(MOST_AT_ONCE),
        v.check((items) => new Set(items.map(({ id }) => id)).size === items.length, 'must name each record once'),
      ),
    }),
    output: v.object({
      items: v.pipe(v.array(v.object({ id: Id, version: Version })), v.description('Those that were changed')),
      errors: v.pipe(v.array(v.object({ id: Id, error: v.string() })), v.description('Those that stay as they are')),
    }),
    summary:
      'Enable, disable or tag up to 500 definitions of one kind at once; what one of them refuses keeps none of the others',
  }),
  'definitions.tags': operation('GET /definitions/tags', 'read', {
    input: v.strictObject({ kind: TaggedKind }),
    output: listOf(v.string()),
    summary: 'List every tag of the definitions of one kind',
  }),
};

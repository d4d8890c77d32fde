import * as v from 'valibot';
import {
  byId,
  Description,
  entityFilters,
  EntityName,
  Id,
  listOf,
  Nothing,
  patchOf,
  SqlText,
  Tags,
  TemplateText,
  textBetween,
  Timestamp,
  Title,
  Version,
  Warnings,
} from './fields.ts';
import { operation } from './operation.ts';
import { Parameters } from './parameters.ts';

const draft = {
  connection_id: Id,
  name: EntityName,
  title: v.optional(Title, null),
  description: Description,
  /** RFC 6570 level 1 with a scheme; its variables are the parameters. */
  uri_template: textBetween(3, 2_000),
  sql_query: SqlText,
  parameters: v.optional(Parameters, []),
  tags: v.optional(Tags, []),
  mime_type: v.optional(
    v.pipe(
      textBetween(3, 127),
      v.regex(/^[\w.+-]+\/[\w.+-]+(;\s*charset=[\w-]+)?$/, 'must be a media type such as application/json'),
    ),
    'application/json',
  ),
  transform_template: v.optional(TemplateText, null),
  enabled: v.optional(v.boolean(), true),
};

export const ResourceDraft = v.strictObject(draft);
export type ResourceDraft = v.InferOutput<typeof ResourceDraft>;
export const ResourcePatch = v.strictObject({ id: Id, version: v.optional(Version), ...patchOf(draft) });

export const Resource = v.object({
  id: Id,
  ...draft,
  connection_name: v.string(),
  warnings: Warnings,
  version: Version,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Resource = v.InferOutput<typeof Resource>;

export const resources = {
  'resources.list': operation({
    method: 'GET',
    path: '/resources',
    access: 'read',
    input: v.strictObject({ ...entityFilters, connection_id: v.optional(Id), tags: v.optional(textBetween(1, 2_000)) }),
    output: listOf(Resource),
    agent: 'list_resources',
    summary: 'List resources',
  }),
  'resources.create': operation({
    method: 'POST',
    path: '/resources',
    access: 'write',
    input: ResourceDraft,
    output: Resource,
    status: 201,
    agent: 'create_resource',
    summary: 'Create a resource',
  }),
  'resources.get': operation({
    method: 'GET',
    path: '/resources/{id}',
    access: 'read',
    input: byId,
    output: Resource,
    agent: 'get_resource',
    summary: 'Read a resource',
  }),
  'resources.update': operation({
    method: 'PATCH',
    path: '/resources/{id}',
    access: 'write',
    input: ResourcePatch,
    output: Resource,
    agent: 'update_resource',
    summary: 'Change fields of a resource',
  }),
  'resources.delete': operation({
    method: 'DELETE',
    path: '/resources/{id}',
    access: 'write',
    input: byId,
    output: Nothing,
    status: 204,
    summary: 'Delete a resource',
  }),
};

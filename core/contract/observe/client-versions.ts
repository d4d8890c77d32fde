import * as v from 'valibot';
import { listInput, listOf, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { ProtocolVersion } from '../settings/setting-values.ts';

/** A revision of MCP that a client used. */
export const ClientVersion = v.object({
  client: v.pipe(v.nullable(v.string()), v.description('Name of the client, as it states it; null: it gave none')),
  version: v.pipe(v.nullable(v.string()), v.description('Version of the client; null: it gave none')),
  protocol_version: v.pipe(v.string(), v.description('Revision of MCP that it used')),
  first_at: Timestamp,
  last_at: v.pipe(Timestamp, v.description('To about a minute')),
});
export type ClientVersion = v.InferOutput<typeof ClientVersion>;

/** How long a client is listed after it was seen last. */
export const CLIENT_VERSION_DAYS = 90;

export const clientVersions = {
  'clients.versions': operation('GET /clients/versions', 'read', {
    input: v.strictObject({
      ...listInput(100),
      below: v.pipe(
        v.optional(ProtocolVersion),
        v.description('Only clients that used an older revision: those that this `min_protocol_version` would refuse'),
      ),
    }),
    output: listOf(ClientVersion),
    summary: `List the clients of the last ${CLIENT_VERSION_DAYS} days and the revisions of MCP that they used, the latest first`,
  }),
};

import type { OperationName } from '#core/contract/index.ts';

type Noun<N extends string = OperationName> = N extends `${infer First}.${string}` ? First : never;

/** Follows from whatever people configure. */
const CONFIGURATION = ['definitions', 'deploy', 'flow', 'history', 'server', 'queue', 'lint', 'insights'] as const;
const EVERYTHING = undefined;

/** What is no longer true after a change of a noun, by nouns. */
const AFFECTED = {
  auth: ['auth', 'history'],
  two_factor: ['two_factor', 'auth', 'history'],
  connections: ['connections', 'files', 'schema', 'tools', 'resources', 'prompts', 'tests', ...CONFIGURATION],
  files: ['files', 'connections', 'schema', 'tools', ...CONFIGURATION],
  tools: ['tools', 'connections', 'tests', ...CONFIGURATION],
  resources: ['resources', 'connections', 'tests', ...CONFIGURATION],
  prompts: ['prompts', 'connections', 'tests', ...CONFIGURATION],
  toolsets: ['toolsets', ...CONFIGURATION],
  definitions: ['tools', 'resources', 'prompts', 'connections', 'schema', 'tests', ...CONFIGURATION],
  tests: ['tests', 'history'],
  calls: ['calls', 'queue'],
  config: ['config', 'ssl', ...CONFIGURATION],
  ssl: ['ssl', 'history', 'server'],
  deploy: ['snapshots', 'drift', 'tests', ...CONFIGURATION],
  snapshots: ['snapshots', 'drift', 'tests', ...CONFIGURATION],
  candidates: ['candidates', 'deploy', 'tests', 'history'],
  drift: ['drift', 'deploy'],
  identity_providers: ['identity_providers', 'auth', 'history'],
  people: ['people', 'auth', 'history'],
  mcp_tokens: ['mcp_tokens', 'history'],
  agent_tokens: ['agent_tokens', 'history'],
  oauth_clients: ['oauth_clients', 'history'],
  notices: ['notices', 'history'],
  oauth_apps: ['oauth_apps', 'grants', 'history'],
  grants: ['grants', 'history'],
  signing_keys: ['signing_keys', 'history'],
  proposals: EVERYTHING,
  history: EVERYTHING,
  transfer: EVERYTHING,
} as const satisfies { readonly [N in Noun]?: readonly Noun[] | undefined };

/** Operations that ask something with a body, and the ends of a session: nobody may read after it, and everything is read anew with the next. */
const CHANGES_NOTHING =
  /^(preview|guard|metrics|logs|replay|insights)\.|^proposals\.replay$|^toolsets\.(preview|visible)$|^identity_providers\.test$|^connections\.test(_draft)?$|^two_factor\.(login|setup)$|^auth\.(setup|login|logout)$|^(oauth_requests|confirmations)\./;

/** A change that nobody misses when it is given up: it only remembers how a check went. */
const CHECKS = /^tests\.run$/;

/** Whether an operation may be given up at any time, since it leaves nothing behind. */
export const changesNothing = (name: OperationName, method: string, input: object): boolean =>
  CHECKS.test(name) || affectedBy(name, method, input)?.length === 0;

/** The nouns whose answers an operation has made untrue: none when it only reads, undefined for all. */
export function affectedBy(name: OperationName, method: string, input: object): readonly string[] | undefined {
  if (method === 'GET' || CHANGES_NOTHING.test(name) || ('dry_run' in input && input.dry_run === true)) return [];
  const noun = name.replace(/\..*/, '');
  return noun in AFFECTED ? AFFECTED[noun as keyof typeof AFFECTED] : EVERYTHING;
}

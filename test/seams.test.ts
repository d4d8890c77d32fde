import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { operations } from '#core/contract/index.ts';
import { INSIGHT_RULE_NAMES } from '#core/contract/observe/insight-rules.ts';

/** What one change may touch (AGENTS.md, "Adding anything else"): the kinds of change that come most often. */
const root = join(import.meta.dir, '..');
const files = ['core', 'server', 'mcp-host', 'agent', 'snapshots', 'ui/src'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(root, folder, path), 'utf8') })),
);
const programs = files.filter(({ path }) => !path.startsWith('ui/'));
const naming = (pattern: RegExp, among = programs): string[] =>
  among.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
/** The files that import this one at run time. */
const importersOf = (path: string): string[] =>
  programs
    .filter((file) => {
      const imported = new Bun.Transpiler({ loader: 'ts' }).scanImports(file.text).map((item) => item.path);
      return imported.some((name) => (name.startsWith('.') ? join(dirname(file.path), name) : name.slice(1)) === path);
    })
    .map((file) => file.path);

const OPENS =
  /\b(keyring|bootstrap|reader)\.open\(|\bopenOrNull\(|\bopenSecret\(|\breadSecret\(|\bsecrets\.resolve\(|\bcreateSealing[<(]/;

/** What each file opens stored secrets for. */
const OPENS_SECRETS: Readonly<Record<string, string>> = {
  'core/audit/heads.ts': 'the key that signs heads of the audit log',
  'core/definitions/connection-draft.ts': 'an edited connection keeps the secret that it has',
  'core/definitions/connections.ts': 'the test of a connection that is not stored',
  'core/deploy/gates/prepare.ts': 'whether a secret of what is deployed can be read',
  'core/deploy/signing/keys.ts': 'the keys that sign definitions',
  'core/edge/confirmation-page.ts': 'the content of a confirmation page, from its address',
  'core/engines/shared/connection-settings.ts': 'what a driver dials with',
  'core/identity/account.ts': 'second factors',
  'core/identity/mcp-tokens.ts': 'a rotated token seals its hash under another path',
  'core/identity/oauth/clients/restore-apps.ts': 'an OAuth client that comes back',
  'core/identity/oauth/keys.ts': 'keys that sign access tokens',
  'core/identity/oauth/tokens.ts': 'codes and refresh tokens',
  'core/identity/providers/exchange.ts': 'the secret that an identity provider wants',
  'core/identity/providers/invited.ts': 'tickets of invitations',
  'core/identity/two-factor.ts': 'second factors',
  'core/lib/secrets.ts': 'the functions themselves',
  'core/lib/sealing.ts': 'the functions themselves',
  'core/observe/logged-arguments.ts': 'logged arguments, for people who may read them',
  'core/observe/notices/send.ts': 'addresses and secrets of webhooks',
  'core/platform/platform.ts': 'the key of fingerprints, at the start',
  'core/platform/sealed-kv.ts': 'values in Redis',
  'core/platform/signals.ts': 'messages in Redis',
  'core/proposals/rows.ts': 'operations of a proposal',
  'core/records/history-entry.ts': 'a rollback restores secrets',
  'core/server-config/certificates.ts': 'the key of the TLS certificate',
  'core/settings/secrets.ts': 'secrets of the settings',
  'core/sources/source-pool.ts': 'whether a key opens the secrets of a connection',
  'core/versions/rewrap.ts': 'seals again with the newest key',
  'core/versions/sealed-records.ts': 'whether a key opens a record',
  'mcp-host/auth/bearer.ts': 'lists of tokens',
  'mcp-host/auth/introspection.ts': 'the secret that an introspection endpoint wants',
  'mcp-host/auth/token-endpoint.ts': 'the secret that a token endpoint wants',
  'mcp-host/call/confirmation/pending-call.ts': 'a call that waits for its confirmation',
  'mcp-host/call/files/file-links.ts': 'calls in the addresses of files',
  'mcp-host/call/page-cursors.ts': 'positions of pages',
  'mcp-host/edge/load.ts': 'a bundle in an isolate',
  'mcp-host/observation.ts': 'arguments of calls that are logged or replayed',
  'mcp-host/requests/mailbox.ts': 'messages between hosts',
  'mcp-host/setup.ts': 'what hosts open with',
};

describe('adding', () => {
  test('a field of a tool touches its declaration, its column and its effect', () => {
    for (const field of ['rate_limit_per_minute', 'cache_ttl_seconds']) {
      const touched = naming(new RegExp(`\\b${field}\\b`)).filter((path) => !/^(agent|snapshots\/generate)\/texts/.test(path));
      // Where it would have no effect, it is refused.
      const declared = /^core\/(contract\/definitions\/tools|store\/schema|definitions\/(tools|checks\/write-guard))\.ts$/;
      expect(touched.filter((path) => !declared.test(path))).toHaveLength(1);
    }
  });

  test('an engine touches its folder and the index', () => {
    const engines = readdirSync(join(root, 'core/engines'), { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && entry.name !== 'shared',
    );
    for (const { name } of engines) {
      const importers = naming(new RegExp(`from '[^']*engines/${name}/|from '\\./${name}/`), files).filter(
        // Sources of generated projects bring the driver of their engine along.
        (path) => !path.startsWith('snapshots/generate/project/'),
      );
      expect([name, importers.filter((path) => !path.startsWith(`core/engines/${name}/`))]).toEqual([
        name,
        expect.arrayContaining(['core/engines/index.ts']),
      ]);
    }
  });

  test('a gate is one file and its line in the list', () => {
    const gates = readdirSync(join(root, 'core/deploy/gates')).filter((file) => !['gate.ts', 'index.ts'].includes(file));
    expect(gates.length).toBeGreaterThan(3);
    for (const gate of gates) {
      expect([gate, importersOf(`core/deploy/gates/${gate}`)]).toEqual([gate, ['core/deploy/gates/index.ts']]);
    }
  });

  test('an insight is one file and its line in the list', () => {
    const shared = ['index.ts', 'insight.ts', 'insights.ts', 'live.ts', 'observed.ts', 'usage-of-period.ts'];
    const rules = readdirSync(join(root, 'core/observe/insights')).filter((file) => !shared.includes(file));
    expect(rules.map((file) => file.replace(/\.ts$/, '')).toSorted()).toEqual(INSIGHT_RULE_NAMES.toSorted());
    for (const rule of rules) {
      expect([rule, naming(new RegExp(`(?:'\\./|observe/insights/)${rule}'`))]).toEqual([
        rule,
        ['core/observe/insights/index.ts'],
      ]);
    }
  });

  test('whoever opens a stored secret stands in this list', () => {
    expect(naming(OPENS).toSorted()).toEqual(Object.keys(OPENS_SECRETS).toSorted());
  });

  test('the server logs the reasons of errors without the values of statements', () => {
    const logged = /reason: (?:String\(error\)|error\.message)|reason: error instanceof Error \?/;
    expect(naming(logged).filter((path) => /^(core|server|agent)\//.test(path))).toEqual([]);
  });

  test('a source of values is a member of the facts of a call, read where a statement is filled', () => {
    const readers = naming(/\bfacts\.\w+|\{ (?:arguments|vars|caller)[^}]*\}: (?:Pick<)?CallFacts/);
    const calling = readers.filter((path) => /^(core\/query|mcp-host\/call)\//.test(path));
    expect(calling.length).toBeGreaterThan(0);
    // Masks look at the groups of the caller when the rows are there.
    const fills = /^core\/query\/(values|value-sources|session|query|files\/stream-query)\.ts$/;
    expect(calling.filter((path) => !fills.test(path))).toEqual([]);
  });

  test.each(Object.keys(operations))('the operation %s is declared in one file and handled in one', (name) => {
    const keys = naming(new RegExp(`^\\s+'${name.replace('.', '\\.')}':`, 'm')).filter(
      (path) => path !== 'core/client/client-texts.ts',
    );
    const [handled, ...others] = keys.filter((path) => !path.startsWith('core/contract/'));
    expect(others).toEqual([]);
    // Those of the nouns are made from the table of nouns.
    const made = /^(connections|tools|resources|prompts)\.|^agent\.delete_|\.(list|create|get|update|delete|duplicate)$/.test(
      name,
    );
    expect(handled !== undefined || made).toBe(true);
  });

  test('a setting that only its effect reads touches two files', () => {
    for (const setting of ['introspection_scopes', 'introspection_cache_ttl_seconds']) {
      const touched = naming(new RegExp(`\\b${setting}\\b`)).map((path) => path.split('/').slice(0, 2).join('/'));
      expect([setting, [...new Set(touched)]]).toEqual([setting, ['core/contract', 'mcp-host/auth']]);
    }
  });

  test('a way to authenticate callers is its scheme and its line where callers are authenticated', () => {
    const schemes = naming(/\): Scheme \{|extends Scheme\b/);
    expect(schemes.length).toBeGreaterThan(1);
    for (const scheme of schemes) {
      const importers = importersOf(scheme);
      expect(importers).toContain('mcp-host/auth/authenticate.ts');
      expect(importers.filter((path) => !path.startsWith('mcp-host/auth/'))).toEqual([]);
    }
  });
});

test('each place that AGENTS.md names is there', () => {
  const guide = readFileSync(join(root, 'AGENTS.md'), 'utf8');
  const named = [...guide.matchAll(/`((?:core|server|mcp-host|agent|snapshots|ui|test)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  // Where each kind of change begins.
  for (const place of [
    'core/contract/definitions/tools.ts',
    'core/contract/settings/settings.ts',
    'core/control-plane/handlers.ts',
    'core/engines/index.ts',
    'core/deploy/gates',
    'mcp-host/auth',
    'core/query/values.ts',
  ])
    expect(named).toContain(place);
});

import { join } from 'node:path';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { openSource } from '#core/engines/index.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { createKeyring } from '#core/lib/secrets.ts';
import { createLog, type LogLine } from '#core/process/log.ts';
import type { AuthSettings } from '#mcp-host/auth/authenticate.ts';
import { tokenFile } from '#mcp-host/auth/list-file.ts';
import { createHost, type Host } from '#mcp-host/host.ts';
import type { HostOptions } from '#mcp-host/host-options.ts';
import { dialledFetch } from '#mcp-host/runtime/runtime.ts';
import { sideSnapshotFiles } from '#mcp-host/control/side-snapshot-files.ts';
import { installationFile } from '#mcp-host/control/own-installation.ts';
import { signedListsFile } from '#mcp-host/control/signed-lists.ts';
import { snapshotFile } from '#mcp-host/control/snapshot-file.ts';

/** Hosts of the tests, in the process of a test or in a program of their own: nothing here needs Bun. */
export const TOKEN = 'service-token-of-the-tests-0123456789';
export const KEY = 'key-of-the-tests-0123456789abcdef-0123';
export const keyring = createKeyring([KEY], new Uint8Array(32));

const dialPolicy = (sqlite_dir: string): DialPolicy => ({
  allow_private_networks: true,
  forbidden: [],
  sqlite_dir,
  ...(dialledFetch && { fetch: dialledFetch }),
});

/** What a host needs to authenticate callers, as `main.ts` has it. */
export const authSettings = (directory: string): AuthSettings => ({
  tokens: tokenFile(join(directory, 'tokens.json')),
  keys: [KEY],
  public_url: null,
  ask: (url, init) => guardedFetch(url, init, dialPolicy(directory)),
});

/** A host as `main.ts` makes it, on a port of its own, with its files in `directory`. */
export function makeHost(
  directory: string,
  control_url: string,
  sink: (line: LogLine) => void,
  more: Partial<HostOptions>,
): Host {
  const policy = dialPolicy(directory);
  return createHost({
    id: 'test-host',
    boot_id: crypto.randomUUID(),
    server_url: control_url,
    service_token: TOKEN,
    address: { host: '127.0.0.1', port: 0 },
    allowed_hosts: ['mcp.example.com'],
    names_path: join(directory, 'names.json'),
    ended_path: join(directory, 'ended-sessions'),
    openSource: (settings) => openSource(settings, policy),
    openSecret: (sealed, place) => keyring.open(sealed, place),
    file: snapshotFile(join(directory, 'host.json')),
    installation: installationFile(join(directory, 'installation.json')),
    beside: sideSnapshotFiles(join(directory, 'beside')),
    signed: signedListsFile(join(directory, 'signatures.json')),
    auth: authSettings(directory),
    log: createLog('DEBUG', sink, 'host'),
    grace_ms: 2_000,
    retry_ms: { min: 20, max: 100 },
    ...more,
  });
}

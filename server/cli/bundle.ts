import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { snapshotOf } from '#core/deploy/generated.ts';
import { readSnapshot, type StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import { AppError } from '#core/errors.ts';
import { is_compiled } from '#core/process/product.ts';
import { tokensEvent } from '#core/identity/mcp-tokens.ts';
import { buildBundle } from '#snapshots/bundle/build.ts';
import { examineBundle } from '#snapshots/bundle/check.ts';
import { BUNDLE_TARGETS, type BundleTarget } from '#core/engines/shared/descriptor.ts';
import { type Bundled, MASK_KEY } from '#snapshots/bundle/format.ts';
import { freezeBundle, usedConnections } from '#snapshots/bundle/freeze-bundle.ts';
import { type Command, type Terminal, UsageError, writeOut } from './command.ts';
import { withApp } from './open.ts';

const NO_SOURCES = 'This executable holds no sources to bundle. Run sluice bundle from the npm package or the repository.';
const NO_VIEW =
  'The page that draws results is not built, so the bundle has none and clients show text. Run bun run build:ui and bundle again.';

export const bundle: Command = {
  usage: 'bundle --target workers|deno|bun [--out FILE] [--snapshot VERSION]',
  summary: 'Write the active snapshot as one module for Cloudflare Workers, Deno or Bun, without secrets',
  options: { target: { type: 'string' }, out: { type: 'string' }, snapshot: { type: 'string' } },
  async run({ values }, terminal) {
    const target = BUNDLE_TARGETS.find((known) => known === values['target']);
    if (is_compiled) throw new AppError('unavailable', NO_SOURCES);
    if (target === undefined) throw new UsageError(`--target must be one of ${BUNDLE_TARGETS.join(', ')}.`);
    const out = typeof values['out'] === 'string' ? values['out'] : `sluice-${target}.mjs`;
    const version = versionOf(values['snapshot']);
    return withApp(terminal, async (app) => {
      await write(app, { target, out, version }, terminal);
      return 0;
    });
  },
};

function versionOf(given: string | boolean | undefined): number | null {
  if (given === undefined) return null;
  const version = Number(given);
  if (Number.isInteger(version) && version > 0) return version;
  throw new UsageError('--snapshot must be the number of a version, such as 12.');
}

interface BundleArguments {
  readonly target: BundleTarget;
  readonly out: string;
  /** Null: the active one. */
  readonly version: number | null;
}

async function write(app: ControlPlane, { target, out, version }: BundleArguments, { out: say, err }: Terminal): Promise<void> {
  const snapshot = await snapshotOf(app, await storedSnapshot(app, version));
  const event = await tokensEvent(app);
  const tokens = event.event === 'tokens' ? event.data.tokens : [];
  const { faults, warnings } = examineBundle(snapshot, { tokens, require_auth: app.env.SVC_REQUIRE_AUTH }, target);
  if (faults.length > 0) throw new AppError('invalid', faults.join('\n'));
  const bundled = freezeBundle({ snapshot, tokens, as_of: app.clock().toISOString() });
  const { text, bytes, gzip_bytes, view } = await buildBundle(bundled, usedConnections(snapshot), target);
  await writeOut(out, text);
  for (const warning of view ? warnings : [...warnings, NO_VIEW]) err(`${warning}\n`);
  const sizes = `${bytes} bytes, ${gzip_bytes} as gzip`;
  say(`Version ${snapshot.version} written to ${out} (${sizes}).\n${bindingsText(bundled)}`);
}

async function storedSnapshot(app: ControlPlane, version: number | null): Promise<StoredSnapshot> {
  const stored = version === null ? await activeSnapshot(app) : await readSnapshot(app, version);
  if (stored !== null) return stored;
  throw new AppError('not_found', version === null ? 'Nothing is deployed. Deploy first.' : `There is no version ${version}.`);
}

function bindingsText({ secrets, hashes }: Bundled): string {
  const names = [...Object.values(secrets), ...(hashes ? [MASK_KEY] : [])];
  return names.length === 0
    ? 'It needs no bindings.\n'
    : `Set these bindings where it runs:\n${names.map((name) => `  ${name}\n`).join('')}`;
}

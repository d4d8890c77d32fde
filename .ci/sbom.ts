/** A bill of materials in CycloneDX 1.6 (cyclonedx.org) of what a lock file of Bun installs for production. */

/** `name@version`, registry, facts, integrity. */
type Locked = readonly [string, string?, Facts?, string?];
interface Facts {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
export interface Lock {
  readonly workspaces: { readonly '': Facts & { readonly name: string } };
  readonly packages: Readonly<Record<string, Locked>>;
}

/** Bun writes commas before closing brackets, which JSON has not. */
export const parseLock = (text: string): Lock => JSON.parse(text.replaceAll(/,(\s*[}\]])/g, '$1')) as Lock;

/** @param at when the release was made. */
export function toBom(lock: Lock, version: string, at: Date) {
  const { name, dependencies, optionalDependencies } = lock.workspaces[''];
  const root = purlOf(`${name}@${version}`);
  const needed = new Map<string, readonly string[]>();
  const visit = (key: string): void => {
    if (needed.has(key)) return;
    const facts = lock.packages[key]?.[2] ?? {};
    const keys = Object.keys({ ...facts.dependencies, ...facts.optionalDependencies }).flatMap(
      (one) => keyOf(lock, key, one) ?? [],
    );
    needed.set(key, keys);
    for (const one of keys) visit(one);
  };
  const direct = Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((one) => keyOf(lock, '', one) ?? []);
  for (const key of direct) visit(key);
  const purlAt = (key: string): string => purlOf(lock.packages[key]?.[0] ?? '');
  const graph = new Map([...needed].map(([key, keys]) => [purlAt(key), [...new Set(keys.map(purlAt))].sort()]));
  const components = new Map([...needed.keys()].map((key) => [purlAt(key), componentOf(lock.packages[key] ?? [''])]));
  const sorted = <T>(of: Map<string, T>): (readonly [string, T])[] => [...of].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: at.toISOString(),
      component: { type: 'application', 'bom-ref': root, name, version, purl: root },
    },
    components: sorted(components).map(([, component]) => component),
    dependencies: [
      { ref: root, dependsOn: direct.map(purlAt).sort() },
      ...sorted(graph).map(([ref, dependsOn]) => ({ ref, dependsOn })),
    ],
  };
}

/** The package that a name means within another: the nearest of those above it. */
function keyOf({ packages }: Lock, from: string, name: string): string | null {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/')))) {
    const key = above === '' ? name : `${above}/${name}`;
    if (packages[key] !== undefined) return key;
    if (above === '') return null;
  }
}

const partsOf = (spec: string): [name: string, version: string] => {
  const at = spec.lastIndexOf('@');
  return [spec.slice(0, at), spec.slice(at + 1)];
};

function purlOf(spec: string): string {
  const [name, version] = partsOf(spec);
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function componentOf([spec, , , integrity]: Locked) {
  const [name, version] = partsOf(spec);
  const purl = purlOf(spec);
  const [algorithm, digest] = integrity?.split('-') ?? [];
  const hashes =
    algorithm === 'sha512' && digest ? [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] : [];
  return { type: 'library', 'bom-ref': purl, name, version, purl, hashes };
}

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readImports, type Use } from './imports.ts';

export interface Room {
  readonly name: string;
  /** Folders and files; of several rooms the longest path has a file. */
  readonly path: string | readonly string[];
  readonly purpose: string;
  readonly may_import: readonly string[];
}
interface Rooms {
  readonly max_files_in_folder: number;
  /** Names for several rooms, in `may_import` and in other sets. */
  readonly sets: Readonly<Record<string, readonly string[]>>;
  readonly rooms: readonly Room[];
}

/** All that one file takes from another. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  /** Only types. */
  readonly type: boolean;
  readonly names: readonly string[];
}

export interface Judgement {
  readonly rooms: readonly Room[];
  readonly lines: ReadonlyMap<string, number>;
  readonly roomOf: (path: string) => Room | null;
  readonly edges: readonly Edge[];
  /** Imports that `rooms.json` does not allow. */
  readonly violations: readonly Edge[];
  /** Files that import each other, by way of whichever others. */
  readonly circles: readonly (readonly string[])[];
  /** Files in no room. */
  readonly unassigned: readonly string[];
  /** Folders with too many files. */
  readonly crowded: readonly (readonly [folder: string, files: number])[];
}

/** Judges how files import each other, types included, by `rooms.json`. Throws when its arrows do not point to rooms above. */
export async function judge(root: string): Promise<Judgement> {
  const { max_files_in_folder, sets, rooms } = JSON.parse(readFileSync(join(import.meta.dir, 'rooms.json'), 'utf8')) as Rooms;
  const allowed = allowedBy(rooms, sets);
  const { uses, lines } = await readImports(root);
  const edges = toEdges(uses.filter(({ to }) => to !== 'package.json'));
  const roomOf = roomFinder(rooms);
  const paths = [...lines.keys()];
  const isViolation = ({ from, to }: Edge): boolean => {
    const [a, b] = [roomOf(from), roomOf(to)];
    return a !== null && b !== null && allowed.get(a.name)?.has(b.name) !== true;
  };
  const sizes = Map.groupBy(paths, (path) => dirname(path));
  return {
    rooms,
    lines,
    roomOf,
    edges,
    violations: edges.filter(isViolation),
    circles: circlesOf(edges),
    unassigned: paths.filter((path) => roomOf(path) === null),
    crowded: [...sizes].flatMap(([folder, { length }]) => (length > max_files_in_folder ? [[folder, length] as const] : [])),
  };
}

/** What each room may import, itself included. Rooms stand in layer order, so that no circle is allowed. */
function allowedBy(rooms: readonly Room[], sets: Rooms['sets']): ReadonlyMap<string, ReadonlySet<string>> {
  const height = new Map(rooms.map(({ name }, index) => [name, index]));
  const roomsOf = (name: string): readonly string[] => sets[name]?.flatMap(roomsOf) ?? [name];
  return new Map(
    rooms.map(({ name, may_import }, index) => {
      const all = may_import.flatMap(roomsOf);
      for (const one of all) {
        const other = height.get(one);
        if (other === undefined) throw new Error(`rooms.json: ${name} may import ${one}, which is no room.`);
        if (other > index) throw new Error(`rooms.json: ${name} may import ${one}, which stands below it.`);
      }
      return [name, new Set([name, ...all])];
    }),
  );
}

function roomFinder(rooms: readonly Room[]): (path: string) => Room | null {
  const places = rooms
    .flatMap((room) => [room.path].flat().map((path) => ({ path, room })))
    .toSorted((a, b) => b.path.length - a.path.length);
  return (file) => places.find(({ path }) => file === path || file.startsWith(`${path}/`))?.room ?? null;
}

function toEdges(uses: readonly Use[]): Edge[] {
  return [...Map.groupBy(uses, ({ from, to }) => `${from} ${to}`).values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const { from, to } = first;
    return { from, to, type: some.every(({ type }) => type), names: [...new Set(some.map(({ name }) => name))] };
  });
}

/** Strongly connected components of more than one node, the largest first (Tarjan). */
export function circlesOf(edges: readonly Pick<Edge, 'from' | 'to'>[]): string[][] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const on_stack = new Set<string>();
  const found: string[][] = [];
  const lower = (node: string, value = 0): void => void low.set(node, Math.min(low.get(node) ?? 0, value));
  const visit = (node: string): void => {
    const number = index.size;
    index.set(node, number);
    low.set(node, number);
    stack.push(node);
    on_stack.add(node);
    for (const { to } of next.get(node) ?? []) {
      if (!index.has(to)) {
        visit(to);
        lower(node, low.get(to));
      } else if (on_stack.has(to)) lower(node, index.get(to));
    }
    if (low.get(node) !== number) return;
    const circle = stack.splice(stack.lastIndexOf(node));
    for (const member of circle) on_stack.delete(member);
    if (circle.length > 1) found.push(circle.toSorted());
  };
  for (const node of next.keys()) if (!index.has(node)) visit(node);
  return found.toSorted((a, b) => b.length - a.length);
}

/**
 * Says how the files of core, snapshots, mcp-host, server and agent keep to the rooms of `rooms.json`, types included:
 *
 *   bun test/rooms/check-rooms.ts                     rooms, violations, circles
 *   bun test/rooms/check-rooms.ts --surface           what other rooms take of each room
 *   bun test/rooms/check-rooms.ts --room core/deploy  what one room imports, and who imports it
 *
 * It ends with 1 when a file imports what its room may not import, or there is a circle, a file without a room or a crowded folder.
 */
import { join } from 'node:path';
import { type Edge, judge } from './judge.ts';

const { rooms, lines, roomOf, edges, violations, circles, unassigned, crowded } = await judge(join(import.meta.dir, '../..'));
const args = process.argv.slice(2);
const out = (text: string): void => console.log(text);
const show = ({ from, to, type, names }: Edge): string => `      ${from} -> ${to}  ${type ? 'type ' : ''}{${names.join(', ')}}`;
const nameOf = (path: string): string => roomOf(path)?.name ?? path;

function showPairs(title: string, some: readonly Edge[]): void {
  out(`\n${title}`);
  for (const [pair, all] of Map.groupBy(some, ({ from, to }) => `${nameOf(from)} -> ${nameOf(to)}`)) {
    out(`  ${pair}: ${all.length}`);
    for (const edge of all) out(show(edge));
  }
}

function showSurface(): void {
  for (const { name } of rooms) {
    const into = edges.filter(({ from, to }) => nameOf(to) === name && nameOf(from) !== name);
    if (into.length === 0) continue;
    out(`\nSURFACE of ${name}`);
    for (const [path, some] of Map.groupBy(into, ({ to }) => to))
      out(`  ${path}: ${[...new Set(some.flatMap(({ names }) => names))].toSorted().join(', ')}`);
  }
}

const room = args.includes('--room') ? args[args.indexOf('--room') + 1] : undefined;
if (args.includes('--surface')) showSurface();
else if (room !== undefined) {
  const others = edges.filter(({ from, to }) => nameOf(from) !== nameOf(to));
  showPairs(
    `IMPORTS of ${room}`,
    others.filter(({ from }) => nameOf(from) === room),
  );
  showPairs(
    `WHO IMPORTS ${room}`,
    others.filter(({ to }) => nameOf(to) === room),
  );
} else {
  out('ROOMS: files, lines');
  for (const { name, purpose } of rooms) {
    const mine = [...lines].filter(([path]) => nameOf(path) === name);
    const size = mine.reduce((sum, [, count]) => sum + count, 0);
    out(`  ${name.padEnd(28)} ${String(mine.length).padStart(4)} ${String(size).padStart(6)}  ${purpose}`);
  }
  if (violations.length > 0) showPairs('VIOLATIONS', violations);
  for (const circle of circles) out(`\nCIRCLE of ${circle.length}: ${circle.join(', ')}`);
  for (const path of unassigned) out(`\nIN NO ROOM: ${path}`);
  for (const [folder, files] of crowded) out(`\nFOLDER of ${files} files: ${folder}`);
}
out(
  `\n${violations.length} violations, ${circles.length} circles, ${unassigned.length} files in no room, ${crowded.length} crowded folders`,
);
process.exit(violations.length + circles.length + unassigned.length + crowded.length === 0 ? 0 : 1);

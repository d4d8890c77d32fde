import type { Output } from '#core/contract/index.ts';

export type Entry = Output<'audit.list'>['items'][number] & { readonly timestamp: string };

const word = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
const words = (value: unknown): string => (Array.isArray(value) ? value.map(word).join(', ') : '');

/** Who did it, as people know them. */
export const actorWord = ({ actor }: Entry): string =>
  actor.name ?? (actor.type === 'anonymous' ? 'Without credentials' : actor.type);

/** What an entry is about, in a few words. */
export function subjectOf({ tool, entity, detail }: Entry): string {
  const name = tool ?? entity?.name ?? '';
  if (name !== '') return name;
  return word(detail['operation']) || word(detail['client']) || word(detail['step']);
}

/** What is worth knowing without opening the entry. */
export function noteOf({ kind, detail }: Entry): string {
  const unmasked = words(detail['unmasked']);
  const calls = Number(detail['calls'] ?? 1);
  const parts = [
    kind === 'call' && calls > 1 && `${calls} calls`,
    unmasked !== '' && (unmasked === '*' ? 'without masks' : `unmasked: ${unmasked}`),
    word(detail['reason']),
    word(detail['code']),
    words(detail['fields']),
    kind === 'sign_in' && word(detail['step']),
    kind !== 'sign_in' && word(detail['action']),
  ];
  return parts.filter(Boolean).join(' · ');
}

/** A day that a person chose, as the times between which it lies in their zone. */
export const dayStart = (day: string): string | undefined => {
  const time = new Date(`${day}T00:00`);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
};
export const dayEnd = (day: string): string | undefined => {
  const time = new Date(`${day}T00:00`);
  if (Number.isNaN(time.getTime())) return undefined;
  time.setDate(time.getDate() + 1);
  return time.toISOString();
};

/** Lets the browser save what an address of this server streams. */
export function downloadFrom(path: string): void {
  const link = document.createElement('a');
  link.href = path;
  link.download = '';
  link.click();
}

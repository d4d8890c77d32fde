import type { Replay, ReplaySample } from '#core/contract/deploy/replay.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

export const OUTCOMES: Readonly<Record<ReplaySample['outcome'], { readonly label: string; readonly tone: Tone }>> = {
  changed: { label: 'Changed', tone: 'warning' },
  failed: { label: 'Failed', tone: 'bad' },
  slower: { label: 'Slower', tone: 'warning' },
  skipped: { label: 'Skipped', tone: 'plain' },
};

/** `12 calls: 9 the same, 2 changed, 1 failed, 1 slower`. */
export function summary({ calls, same, changed, failed, slower, skipped }: Replay): string {
  const parts = [
    `${same} the same`,
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(slower > 0 ? [`${slower} slower`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  return `${plural(calls, 'call')}: ${parts.join(', ')}`;
}

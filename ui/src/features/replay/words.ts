import type { Replay } from '#core/contract/deploy/replay.ts';
import { plural } from '#ui/src/kernel/words.ts';

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

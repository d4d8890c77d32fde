import type { Replay, ReplaySample } from '#core/contract/deploy/replay.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  replay: 'Replay recent calls',
  title: 'Replay recent calls',
  lead: 'Runs recent calls of reading tools on the live version and on another one, and compares the answers. Calls of clients go first.',
  against: 'Compare with',
  calls: 'Calls',
  proposal: 'With the proposal',
  run: 'Run replay',
  cancel: 'Cancel',
  running: 'Running recent calls on both versions. It takes at most a minute.',
  off_title: 'Hosts keep no calls',
  off: 'Set how many recent calls each host keeps in memory, deploy, and come back after some calls.',
  off_action: 'Open the setting',
  none_title: 'No calls to replay',
  none: 'The hosts keep calls from now on. Call some reading tools, then run the replay again.',
  same: 'Every answer is the same.',
  no_target: 'There is no other version yet. Create a candidate of the working copy to compare with.',
  live: 'Live',
  missing: 'No row',
} as const;

export const OUTCOMES: Readonly<Record<ReplaySample['outcome'], { readonly label: string; readonly tone: Tone }>> = {
  changed: { label: 'Changed', tone: 'brass' },
  failed: { label: 'Failed', tone: 'bad' },
  slower: { label: 'Slower', tone: 'brass' },
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

/** The zone of sessions that are asked for no other. */
export const UTC = '+00:00';

/** Minutes that an offset such as `-03:30` is ahead of UTC. */
export function minutesOf(offset: string): number {
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number);
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

import { createSignal, onCleanup } from 'solid-js';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { ago } from '#ui/src/kernel/words.ts';

/** How long ago, kept true while it is shown; the exact time on hover. */
export function Ago(props: { iso: string }) {
  const [now, setNow] = createSignal(Date.now());
  const timer = setInterval(() => setNow(Date.now()), 10_000);
  onCleanup(() => clearInterval(timer));
  return (
    <time datetime={props.iso} title={exactTime(props.iso)}>
      {ago(props.iso, Math.max(now(), Date.parse(props.iso)))}
    </time>
  );
}

import { type Accessor, createSignal, onCleanup } from 'solid-js';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { ago, until } from '#ui/src/kernel/words.ts';

/** The current time, updated every `every_ms`, which is enough for texts in minutes. */
export function useNow(every_ms = 10_000): Accessor<number> {
  const [now, setNow] = createSignal(Date.now());
  const timer = setInterval(() => setNow(Date.now()), every_ms);
  onCleanup(() => clearInterval(timer));
  return now;
}

/** A relative time in the past that updates while visible; the exact time on hover. */
export function Ago(props: { iso: string }) {
  const now = useNow();
  return (
    <time datetime={props.iso} title={exactTime(props.iso)}>
      {ago(props.iso, Math.max(now(), Date.parse(props.iso)))}
    </time>
  );
}

/** A relative time in the future that updates while visible; `past` is shown afterwards. */
export function In(props: { iso: string; past?: string }) {
  const now = useNow();
  return (
    <time datetime={props.iso} title={exactTime(props.iso)}>
      {Date.parse(props.iso) <= now() && props.past !== undefined ? props.past : until(props.iso, now())}
    </time>
  );
}

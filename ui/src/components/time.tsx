import { createSignal, onCleanup } from 'solid-js';
import { ago, bytes, duration } from '#ui/src/kernel/words.ts';

/** How long ago, kept true while it is shown; the exact time on hover. */
export function Ago(props: { iso: string }) {
  const [now, setNow] = createSignal(Date.now());
  const timer = setInterval(() => setNow(Date.now()), 10_000);
  onCleanup(() => clearInterval(timer));
  return (
    <time datetime={props.iso} title={new Date(props.iso).toLocaleString()}>
      {ago(props.iso, Math.max(now(), Date.parse(props.iso)))}
    </time>
  );
}

export function Duration(props: { ms: number }) {
  return <span class="num">{duration(props.ms)}</span>;
}

export function Bytes(props: { count: number }) {
  return (
    <span class="num" title={`${props.count.toLocaleString('en')} bytes`}>
      {bytes(props.count)}
    </span>
  );
}

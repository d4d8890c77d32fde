import { createMemo, For, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { hourTime } from '#ui/src/kernel/dates.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { type Hour, minutesOf } from './traffic.ts';

interface Mark {
  readonly version: number;
  readonly created_at: string;
}

/** What the name of a version takes of the hour: of deploys that stand closer together, the last one is named. */
const NAME_SHARE = 0.07;
/** A bar for each minute of the hour, and one for now. */
const BARS = 61;
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: -60,
  End: 60,
};

/** The hour, a bar for each minute: press or drag to look at one, or move with the arrow keys. */
export function Timeline(props: {
  hour: Hour;
  deploys: readonly Mark[];
  /** The minute that is shown; undefined: now. */
  at: string | undefined;
  onMove: (at: string | undefined) => void;
}) {
  const minutes = createMemo(() => minutesOf(props.hour));
  const most = () => Math.max(1, ...minutes().map(({ calls }) => calls));
  const index = () => {
    const found = minutes().findIndex(({ timestamp }) => timestamp === props.at);
    return found < 0 ? 60 : found;
  };
  const go = (to: number) => props.onMove(minutes()[Math.max(0, to)]?.timestamp);
  const words = () => {
    const minute = minutes()[index()];
    if (minute === undefined) return 'Now';
    return `${hourTime(new Date(minute.timestamp))}, ${plural(minute.calls, 'call')}, ${minute.errors} failed`;
  };
  const marks = () => {
    const first = Date.parse(minutes()[0]?.timestamp ?? '');
    const shown = props.deploys
      .map(({ version, created_at }) => ({ version, share: (Date.parse(created_at) - first) / (BARS * 60_000) }))
      .filter(({ share }) => share >= 0 && share <= 1)
      .toSorted((a, b) => a.share - b.share);
    return shown.map(({ version, share }, n) => ({
      version,
      left: `${share * 100}%`,
      is_named: (shown[n + 1]?.share ?? Infinity) - share > NAME_SHARE,
    }));
  };
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const to = index() + step;
    if (to >= 60) props.onMove(undefined);
    else go(to);
  };
  const drag = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const to = Math.floor(((event.clientX - left) / width) * BARS);
    if (to >= 60) props.onMove(undefined);
    else go(to);
  };
  return (
    <div class="live-time">
      <div
        class="live-track"
        role="slider"
        tabindex="0"
        aria-label="Minute of the last hour"
        aria-valuemin="0"
        aria-valuemax="60"
        aria-valuenow={index()}
        aria-valuetext={words()}
        title={words()}
        onKeyDown={press}
        onPointerDown={drag}
        onPointerMove={drag}
      >
        <For each={Array.from({ length: 60 }, (_, n) => n)}>
          {(n) => {
            const minute = () => minutes()[n];
            const share = () => (minute()?.calls ?? 0) / most();
            const failed = () => (minute()?.errors ?? 0) / Math.max(1, minute()?.calls ?? 0);
            return (
              <span class="live-bar" data-at={index() === n ? 'true' : undefined}>
                <span style={{ height: `${share() === 0 ? 0 : Math.max(6, share() * 100)}%` }}>
                  <span style={{ height: `${failed() === 0 ? 0 : Math.max(12, failed() * 100)}%` }} />
                </span>
              </span>
            );
          }}
        </For>
        <span class="live-bar" data-at={index() === 60 ? 'true' : undefined} />
        <For each={marks()}>
          {({ version, left, is_named }) => (
            <span class="live-mark" style={{ left }} title={`Version ${version} deployed`}>
              {is_named && `v${version}`}
            </span>
          )}
        </For>
      </div>
      <div class="live-axis faint num" aria-hidden="true">
        <For each={[0, 15, 30, 45]}>{(n) => <span>{hourTime(new Date(minutes()[n]?.timestamp ?? 0))}</span>}</For>
        <span>now</span>
      </div>
      <Show when={props.at !== undefined}>
        <Button size="small" icon="play" onPress={() => props.onMove(undefined)}>
          Live
        </Button>
      </Show>
    </div>
  );
}

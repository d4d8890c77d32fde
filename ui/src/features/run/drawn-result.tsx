import { createEffect, onCleanup, onMount } from 'solid-js';
import type { View } from '#core/contract/definitions/view.ts';
import type { Members } from '#core/lib/view/table.ts';
import { useCopy } from '#ui/src/components/use-copy.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';
import { drawResult, type Drawn } from '#ui/src/view/draw.ts';
import '#ui/src/view/view.css';
import './drawn-result.css';

interface DrawnResultProps {
  /** A result of `tools/call`. */
  result: Members;
  view: View | null;
  /** In the colours of a client; absent: in those of this interface. */
  theme?: 'light' | 'dark';
}

/** A result as clients with MCP Apps draw it: the same code that runs in the page that they show. */
export function DrawnResult(props: DrawnResultProps) {
  const copy = useCopy();
  let container: HTMLDivElement | undefined;
  let drawn: Drawn | undefined;
  let width = 0;
  createEffect(() => {
    drawn = drawResult(props.result, {
      view: props.view,
      locale: navigator.language,
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      copy: (text) => void copy(text, 'Copied.'),
      save: (csv) => saveFile('result.csv', 'text/csv', csv),
    });
    container?.replaceChildren(drawn.element);
    drawn.resize(container?.clientWidth ?? 0);
  });
  onMount(() => {
    const observer = new ResizeObserver(() => {
      const now = container?.clientWidth ?? 0;
      if (now === width) return;
      width = now;
      drawn?.resize(width);
    });
    if (container !== undefined) observer.observe(container);
    onCleanup(() => observer.disconnect());
  });
  return (
    <div
      ref={(element) => (container = element)}
      class={props.theme === undefined ? 'sv drawn-own' : 'sv'}
      data-theme={props.theme}
    />
  );
}

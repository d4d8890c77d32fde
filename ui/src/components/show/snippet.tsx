import { placeholdersIn } from '#core/lib/text/command-text.ts';
import { CopyButton } from './code-block.tsx';

/** Text for a terminal or a file, with a button that copies it. */
export function Snippet(props: { text: string; label: string }) {
  const missing = () => {
    const places = placeholdersIn(props.text);
    return places.length === 0 ? undefined : `Copied. Replace ${places.join(' and ')} before you use it.`;
  };
  return (
    <div class="snippet">
      <pre tabindex="0" role="group" data-lines={props.text.includes('\n') ? 'many' : undefined} aria-label={props.label}>
        {props.text}
      </pre>
      <CopyButton text={props.text} label={props.label} caution={missing()} />
    </div>
  );
}

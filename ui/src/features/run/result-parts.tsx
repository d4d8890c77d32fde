import { For, Match, Show, Switch } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { saveFile } from '#ui/src/kernel/save-file.ts';
import { bytes } from '#ui/src/kernel/words.ts';
import type { Part, Result } from './result.ts';

/** What a model receives, part by part. */
export function ResultParts(props: { result: Result }) {
  return (
    <div class="stack" data-gap="2">
      <Show when={props.result.is_error}>
        <Notice tone="warning">The call failed. A model reads this text and may try again with other arguments.</Notice>
      </Show>
      <For each={props.result.parts}>{(part) => <PartView part={part} />}</For>
      <Show when={props.result.structured}>
        {(structured) => (
          <section class="stack" data-gap="2">
            <h3>structuredContent</h3>
            <JsonView label="structuredContent" value={structured()} open={1} />
          </section>
        )}
      </Show>
    </div>
  );
}

const ROLES: Readonly<Record<string, string>> = { user: 'User', assistant: 'Assistant' };

function PartView(props: { part: Part }) {
  const size = () => Math.floor((props.part.data.length * 3) / 4);
  const role = () => ROLES[props.part.from ?? ''];
  const save = () =>
    saveFile(
      'result',
      props.part.mime_type,
      Uint8Array.from(atob(props.part.data), (character) => character.codePointAt(0) ?? 0),
    );
  return (
    <div class="result-part" data-role={role() && props.part.from}>
      <Show when={props.part.from}>
        {(from) => <p class="small faint">{role() ?? <span class="mono">{`${from()} · ${props.part.mime_type}`}</span>}</p>}
      </Show>
      <Switch>
        <Match when={props.part.kind === 'text'}>
          <CodeBlock code={props.part.data} label={role() ?? `content, ${props.part.mime_type}`} wrap max_height="32rem" />
        </Match>
        <Match when={props.part.kind === 'image'}>
          <img class="result-image" src={`data:${props.part.mime_type};base64,${props.part.data}`} alt="The result" />
        </Match>
        <Match when={true}>
          <p class="small soft">{`${props.part.mime_type}, ${bytes(size())}`}</p>
          <Show when={props.part.kind === 'audio'}>
            <p class="small soft">Audio cannot be played here. Save the file to listen to it.</p>
          </Show>
        </Match>
      </Switch>
      <Show when={props.part.kind !== 'text'}>
        <Button size="small" icon="download" onPress={save}>
          Save file
        </Button>
      </Show>
    </div>
  );
}

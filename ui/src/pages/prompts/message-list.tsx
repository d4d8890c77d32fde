import { createMemo, Index } from 'solid-js';
import type { PromptMessage } from '#core/contract/definitions/prompts.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { CodeEditor, type Language } from '#ui/src/components/editor/code-editor.tsx';
import { rangeInText } from '#ui/src/features/builder/sql/template.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

/** The messages of a prompt, by role. */
export function MessageList(props: {
  messages: readonly PromptMessage[];
  arguments: readonly string[];
  onChange: (messages: PromptMessage[]) => void;
  error: (index: number) => string | undefined;
  onSave: () => void;
}) {
  const language = createMemo<Language>(() => ({
    name: 'template',
    context: { names: () => [...props.arguments, 'vars'], members: () => ({}) },
  }));
  const replace = (index: number, change: Partial<PromptMessage>) =>
    props.onChange(props.messages.map((message, at) => (at === index ? { ...message, ...change } : message)));
  const add = () => {
    const role = props.messages.at(-1)?.role === 'user' ? 'assistant' : 'user';
    props.onChange([...props.messages, { role, template: '' }]);
  };
  const faults = (index: number) => {
    const message = props.error(index);
    const range = message === undefined ? undefined : rangeInText(message, props.messages[index]?.template ?? '');
    return message === undefined || range === undefined ? [] : [{ ...range, message }];
  };

  return (
    <div class="stack">
      <Index each={props.messages}>
        {(message, index) => (
          <div class="stack" data-gap="2" ref={passesFocus} role="group" aria-label={`Message ${index + 1}`}>
            <div class="spread">
              <SegmentedControl
                label={`Role of message ${index + 1}`}
                value={message().role}
                onChange={(role) => replace(index, { role })}
                options={[
                  { value: 'user', label: 'User' },
                  { value: 'assistant', label: 'Assistant' },
                ]}
              />
              <IconButton
                icon="trash"
                size="small"
                label={`Remove message ${index + 1}`}
                blocked={props.messages.length === 1}
                onPress={() => props.onChange(props.messages.toSpliced(index, 1))}
              />
            </div>
            <CodeEditor
              label={`Message ${index + 1}`}
              value={message().template}
              onInput={(template) => replace(index, { template })}
              language={language()}
              faults={faults(index)}
              error={faults(index).length > 0 ? undefined : props.error(index)}
              placeholder={'Write a report on {{ topic }}.'}
              lines={4}
              onSave={() => props.onSave()}
            />
          </div>
        )}
      </Index>
      <AddRow label="Add message" onPress={add} />
    </div>
  );
}

import { Show } from 'solid-js';
import { RadioCards, SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { TypedField } from '#ui/src/components/form/typed-field.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

const MOST = 200;

/** The toolsets of a token: all of them, or some by name. */
export function ToolsetsField(props: {
  value: readonly string[] | null;
  onChange: (value: string[] | null) => void;
  error: string | undefined;
}) {
  return (
    <>
      <SegmentedControl
        label="Access"
        options={[
          { value: 'all', label: 'Everything' },
          { value: 'some', label: 'Some toolsets' },
        ]}
        value={props.value === null ? 'all' : 'some'}
        onChange={(value) => props.onChange(value === 'all' ? null : [])}
      />
      <Names {...props} />
    </>
  );
}

/** The toolsets of an access token. Everything, with what comes later, has to be chosen. */
export function TokenToolsets(props: {
  value: readonly string[] | null;
  everything: boolean;
  onChange: (value: string[] | null, everything: boolean) => void;
  error: string | undefined;
}) {
  return (
    <>
      <RadioCards
        label="Access"
        options={[
          { value: 'some', label: 'Some toolsets', hint: 'Only what the toolsets below include.' },
          { value: 'all', label: 'Everything', hint: 'Also tools, resources, prompts and toolsets that are created later.' },
        ]}
        value={props.everything ? 'all' : props.value === null ? undefined : 'some'}
        onChange={(value) => props.onChange(value === 'all' ? null : [], value === 'all')}
        error={props.value === null && !props.everything && props.error !== undefined ? 'Choose one of the two.' : undefined}
      />
      <Names value={props.value} onChange={(value) => props.onChange(value, false)} error={props.error} />
    </>
  );
}

function Names(props: { value: readonly string[] | null; onChange: (value: string[]) => void; error: string | undefined }) {
  const list = useQuery((read) => read('toolsets.list', { limit: MOST }));
  const names = () => list.data()?.items.map(({ name }) => name) ?? [];
  const unknown = () => (list.data() === undefined ? [] : (props.value ?? []).filter((name) => !names().includes(name)));
  return (
    <Show when={props.value}>
      {(chosen) => (
        <TagsField
          label="Toolsets"
          hint={
            list.data()?.total === 0
              ? 'There are no toolsets yet. Create one under Toolsets.'
              : 'Names of toolsets. Leave empty for no access.'
          }
          value={chosen()}
          onChange={(value) => props.onChange(value)}
          suggestions={names()}
          error={unknown().length > 0 ? `There is no toolset ${unknown().join(', ')}. Choose from the list.` : props.error}
        />
      )}
    </Show>
  );
}

type Claims = Readonly<Record<string, unknown>>;

/** Claims as JSON. What cannot be read is refused by the contract, not sent without. */
export function ClaimsField(props: { value: Claims; onChange: (value: Claims) => void; error: string | undefined }) {
  return (
    <TypedField
      label="Claims"
      hint={
        'A JSON object that statements and templates read as caller.claims, such as {"region": "north"}. The claims sub, name, email and groups also fill caller.sub, caller.name and so on.'
      }
      optional
      rows={3}
      value={props.value}
      write={(claims) => (Object.keys(claims).length === 0 ? '' : JSON.stringify(claims, null, 2))}
      read={(text) => {
        const claims = toClaims(text);
        return claims === null ? { value: text, fault: 'This isn’t a JSON object.' } : { value: claims };
      }}
      onChange={(claims) => props.onChange(claims as Claims)}
      error={props.error}
    />
  );
}

function toClaims(text: string): Claims | null {
  if (text.trim() === '') return {};
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : null;
}

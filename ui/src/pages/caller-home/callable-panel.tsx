import { createMemo, createSignal, For, Show } from 'solid-js';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState, NoResults } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';
import { SearchInput } from '#ui/src/components/table/filter-bar.tsx';
import { fieldsOfPrompt, fieldsOfSchema, fieldsOfTemplate } from '#ui/src/features/run/schema-fields.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { contactOf, emptyOf, type Home } from './words.ts';

/** A list of more than this many has a search. */
const SEARCHED_FROM = 12;

interface Callable {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly changes_data: boolean;
  /** Of a resource. */
  readonly uri?: string;
  readonly parameters: readonly Parameter[];
}

const GROUPS: readonly { readonly title: string; readonly of: (home: Home) => Callable[] }[] = [
  {
    title: 'Tools',
    of: ({ tools }) =>
      tools.map(({ read_only, input_schema, ...texts }) => ({
        ...texts,
        changes_data: !read_only,
        parameters: fieldsOfSchema(input_schema),
      })),
  },
  {
    title: 'Resources',
    of: ({ resources }) =>
      resources.map((resource) => ({ ...resource, changes_data: false, parameters: fieldsOfTemplate(resource.uri) })),
  },
  {
    title: 'Prompts',
    of: ({ prompts }) =>
      prompts.map((prompt) => ({ ...prompt, changes_data: false, parameters: fieldsOfPrompt(prompt.arguments) })),
  },
];

/** Everything that the person can call, as their client lists it. */
export function CallablePanel(props: { home: Home }) {
  const [search, setSearch] = createSignal('');
  const groups = createMemo(() => GROUPS.map(({ title, of }) => ({ title, all: of(props.home) })));
  const total = () => groups().reduce((sum, { all }) => sum + all.length, 0);
  const found = createMemo(() => {
    const matches = compileSearch(search());
    return groups()
      .map(({ title, all }) => ({
        title,
        all: all.filter(({ name, title: shown, description, uri }) => matches(name, shown, description, uri)),
      }))
      .filter(({ all }) => all.length > 0);
  });
  const lead = () => {
    const names = props.home.toolsets.map(({ name, title }) => title ?? name);
    return names.length === 0 ? undefined : `From ${names.length === 1 ? 'the toolset' : 'the toolsets'} ${names.join(', ')}.`;
  };
  const empty = () => emptyOf(props.home, contactOf(props.home));
  return (
    <Panel title="What you can call" count={total()} lead={lead()} flush>
      <Show
        when={total() > 0}
        fallback={
          <EmptyState icon="tool" title={empty().title}>
            <p>{empty().text}</p>
          </EmptyState>
        }
      >
        <Show when={total() > SEARCHED_FROM}>
          <div class="caller-search">
            <SearchInput label="Find by name or text" value={search()} onInput={setSearch} />
          </div>
        </Show>
        <For each={found()} fallback={<NoResults onClear={() => setSearch('')} />}>
          {(group) => (
            <section class="caller-group">
              <h3>
                {group.title} <span class="faint num">{group.all.length}</span>
              </h3>
              <ul>
                <For each={group.all}>{(one) => <CallableItem one={one} />}</For>
              </ul>
            </section>
          )}
        </For>
      </Show>
    </Panel>
  );
}

function CallableItem(props: { one: Callable }) {
  const [open, setOpen] = createSignal(false);
  const count = () => props.one.parameters.length;
  return (
    <li class="caller-item">
      <div class="caller-name">
        <span class="mono long-name">
          <Breakable text={props.one.name} />
        </span>
        <Show when={props.one.title}>
          {(title) => (
            <span class="soft small">
              <Sentence>{title()}</Sentence>
            </span>
          )}
        </Show>
        <Show when={props.one.changes_data}>
          <Badge tone="warning">Changes data</Badge>
        </Show>
      </div>
      <p class="small caller-text">
        <Sentence>{props.one.description}</Sentence>
      </p>
      <Show when={props.one.uri}>{(uri) => <code class="small caller-uri">{uri()}</code>}</Show>
      <Show when={count() > 0}>
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary class="small soft">
            {plural(count(), 'parameter')}
            <span class="visually-hidden"> of {props.one.name}</span>
          </summary>
          <Show when={open()}>
            <dl class="caller-parameters small">
              <For each={props.one.parameters}>{(parameter) => <ParameterItem of={parameter} />}</For>
            </dl>
          </Show>
        </details>
      </Show>
    </li>
  );
}

/** Allowed values that are named; the rest are counted. */
const SHOWN_VALUES = 8;

function ParameterItem(props: { of: Parameter }) {
  const type = () => (props.of.type === 'array' ? `list of ${props.of.items ?? 'json'}` : props.of.type);
  const values = () => {
    const all = props.of.enum ?? [];
    const more = all.length - SHOWN_VALUES;
    return all.length === 0
      ? undefined
      : `One of ${all.slice(0, SHOWN_VALUES).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
  };
  const fallback = () => (props.of.default === undefined ? undefined : `Defaults to ${JSON.stringify(props.of.default)}.`);
  return (
    <div>
      <dt>
        <span class="mono">{props.of.name}</span>
        <span class="faint">{`${type()}${props.of.required ? '' : ', optional'}`}</span>
      </dt>
      <dd>
        <Sentence>{[props.of.description, values(), fallback()].filter(Boolean).join(' ')}</Sentence>
      </dd>
    </div>
  );
}

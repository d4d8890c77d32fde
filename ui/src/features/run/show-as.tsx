import { createSignal, Show, untrack } from 'solid-js';
import type { PlaygroundCaller } from '#core/contract/definitions/preview.ts';
import type { Person } from '#core/contract/identity/people.ts';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { Combobox } from '#ui/src/components/form/combobox.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { ClaimsField, ToolsetsField } from '#ui/src/features/connect/token-access.tsx';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { type Caller, type CallerChoice, NONE, PERSON, TYPED } from './caller-choice.ts';
import './result.css';

const TOKENS_PAGE = 100;
const PEOPLE_PAGE = 500;

/** The caller of an access token, as a host resolves it. */
const callerOfToken = ({ name, claims, toolsets }: Pick<PlaygroundCaller, 'claims'> & TokenAccess): Caller => {
  const text = (claim: string): string | null => (typeof claims[claim] === 'string' ? claims[claim] : null);
  const groups = Array.isArray(claims['groups']) ? claims['groups'].filter((group) => typeof group === 'string') : [];
  return {
    sub: text('sub') ?? `token:${name}`,
    name: text('name'),
    email: text('email'),
    client_id: text('client_id'),
    groups,
    token: name,
    claims,
    toolsets,
  };
};
interface TokenAccess {
  readonly name: string;
  readonly toolsets: string[] | null;
}

/** A person signed in from an MCP client, with the claims of their token. */
const callerOfPerson = ({ id, username, display_name, email, groups }: Person): Caller => {
  const identity = { sub: id, name: display_name ?? username, groups };
  return { ...identity, email, claims: email === null ? identity : { ...identity, email } };
};

const personLabel = ({ username, display_name }: Person): string =>
  display_name === null ? username : `${display_name} (${username})`;

/** The inputs that decide which toolsets a caller has. */
export const rightsOf = ({ toolsets, groups = [] }: Caller) => (toolsets === undefined ? { groups } : { toolsets });

/** A stored definition whose visibility is checked for the caller. */
export interface Subject {
  readonly kind: 'tool' | 'resource' | 'prompt';
  readonly id: string;
}

/** Runs as a selected caller: its values are bound, its masks apply, and its visible toolsets are shown. */
export function ShowAs(props: {
  label: string;
  nobody: string;
  choice: CallerChoice;
  onChange: (choice: CallerChoice) => void;
  /** The definition on the page. */
  subject?: Subject | undefined;
}) {
  const { session } = useKernel();
  /** The list can be long and is seldom needed, so it loads on demand. */
  const [reached, setReached] = createSignal(untrack(() => props.choice.chosen !== NONE));
  const tokens = useQuery(
    async (read) => {
      if (!reached() || !session.may('mcp_tokens.list')) return [];
      return (await allOf((skip, limit) => read('mcp_tokens.list', { skip, limit }), TOKENS_PAGE)).items;
    },
    { watch: reached },
  );
  const people = useQuery(
    async (read) => {
      if (!reached() || !session.may('people.list')) return [];
      return (await allOf((skip, limit) => read('people.list', { enabled: true, skip, limit }), PEOPLE_PAGE)).items;
    },
    { watch: reached },
  );
  const toolsets = useQuery((read) => read('toolsets.list', { limit: 1 }));
  /** Without toolsets, every caller sees everything. */
  const limited = () => (toolsets.data()?.total ?? 0) > 0;
  const chosen = () => props.choice.chosen;
  const typed = () => props.choice.typed;
  const live = () => (tokens.data() ?? []).filter(({ revoked }) => !revoked);
  const options = () => [
    { value: NONE, label: props.nobody },
    ...((people.data() ?? []).length > 0 ? [{ value: PERSON, label: 'A person' }] : []),
    ...live().map(({ id, name, toolsets }) => ({
      value: id,
      label: `Token ${name}`,
      hint: toolsets === null ? undefined : `Toolsets: ${toolsets.join(', ') || 'none'}`,
    })),
    { value: TYPED, label: 'Custom values' },
  ];
  const type = (typed: Caller) => {
    // The field shows the error of invalid JSON.
    const caller = typeof typed.claims === 'object' ? { ...typed, sub: typed.sub || null } : props.choice.caller;
    props.onChange({ chosen: TYPED, caller, typed });
  };
  const choose = (value: string) => {
    if (value === TYPED) return type(typed());
    const token = live().find(({ id }) => id === value);
    props.onChange({ ...props.choice, chosen: value, caller: token && callerOfToken(token) });
  };
  const choosePerson = (id: string | undefined) => {
    const person = people.data()?.find((one) => one.id === id);
    if (person !== undefined) props.onChange({ ...props.choice, caller: callerOfPerson(person) });
  };
  return (
    <div class="show-as stack" onPointerEnter={() => setReached(true)} onFocusIn={() => setReached(true)}>
      <Select label={props.label} options={options()} value={chosen()} onChange={choose} />
      <Show when={chosen() === PERSON}>
        <Combobox
          label="Person"
          placeholder="Find by name"
          options={(people.data() ?? []).map((person) => ({
            value: person.id,
            label: personLabel(person),
            hint: [person.role, ...person.groups].join(' · '),
          }))}
          value={props.choice.caller?.sub ?? undefined}
          onChange={choosePerson}
        />
      </Show>
      <Show when={chosen() === TYPED}>
        <div class="grid-2">
          <TextField label="ID" mono optional value={typed().sub ?? ''} onInput={(sub) => type({ ...typed(), sub })} />
          <TagsField label="Groups" optional value={typed().groups ?? []} onChange={(groups) => type({ ...typed(), groups })} />
        </div>
        <ClaimsField value={typed().claims ?? {}} onChange={(claims) => type({ ...typed(), claims })} error={undefined} />
        <Show when={limited()}>
          <SegmentedControl
            label="Toolsets come from"
            options={[
              { value: 'groups', label: 'The groups' },
              { value: 'names', label: 'A token' },
            ]}
            value={typed().toolsets === undefined ? 'groups' : 'names'}
            onChange={(value) => {
              const { toolsets: _, ...rest } = typed();
              type(value === 'groups' ? rest : { ...rest, toolsets: null });
            }}
          />
        </Show>
        <Show when={limited() && typed().toolsets !== undefined}>
          <ToolsetsField
            value={typed().toolsets ?? null}
            onChange={(toolsets) => type({ ...typed(), toolsets })}
            error={undefined}
          />
        </Show>
      </Show>
      <Show when={limited() && props.choice.caller}>{(one) => <Seen caller={one()} subject={props.subject} />}</Show>
    </div>
  );
}

/** What the selected caller sees, according to the working copy. */
function Seen(props: { caller: Caller; subject: Subject | undefined }) {
  const seen = useQuery((read) => read('toolsets.visible', rightsOf(props.caller)), {
    watch: () => JSON.stringify(rightsOf(props.caller)),
  });
  const misses = () => {
    const { subject } = props;
    return (
      subject !== undefined &&
      !seen.stale() &&
      seen.data()?.members.some(({ kind, id }) => kind === subject.kind && id === subject.id) === false
    );
  };
  return (
    <div aria-live="polite">
      <Show
        when={seen.stale() ? undefined : seen.data()}
        fallback={<Show when={seen.problem()}>{(problem) => <p class="small">{problem().detail}</p>}</Show>}
      >
        {(found) => (
          <>
            <Show when={misses()}>
              <Notice tone="warning">This caller doesn’t see this {props.subject?.kind}: it is in none of their toolsets.</Notice>
            </Show>
            <p class="small soft">
              {toolsetsText(found().toolsets)}
              {(props.caller.groups ?? []).length > 0 ? ` Groups: ${props.caller.groups?.join(', ')}.` : ''}
              {` ${plural(found().total, 'definition')}, about ${plural(found().tokens, 'token')}.`}
            </p>
          </>
        )}
      </Show>
    </div>
  );
}

const toolsetsText = (names: readonly string[] | null): string =>
  names === null ? 'Sees everything.' : names.length === 0 ? 'Has no toolset.' : `Toolsets: ${names.join(', ')}.`;

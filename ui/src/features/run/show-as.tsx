import { createSignal, Show } from 'solid-js';
import * as v from 'valibot';
import { PretendedCaller } from '#core/contract/definitions/preview.ts';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

type Caller = Partial<PretendedCaller>;

const MOST_TOKENS = 100;
const TYPED = 'typed';
const NONE = '';

/** The caller of an access token, as a host makes it out. */
const callerOfToken = ({
  name,
  claims,
}: {
  readonly name: string;
  readonly claims: Readonly<Record<string, unknown>>;
}): Caller => {
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
  };
};

/** Runs as a chosen caller: whose values are bound, and whose masks hold. */
export function ShowAs(props: { label: string; nobody: string; onChange: (caller: Caller | undefined) => void }) {
  const { session } = useKernel();
  const tokens = useQuery(async (read) =>
    session.may('mcp_tokens.list') ? (await read('mcp_tokens.list', { limit: MOST_TOKENS })).items : [],
  );
  const [chosen, setChosen] = createSignal(NONE);
  const [typed, setTyped] = createSignal<Caller>({ sub: '', groups: [] });
  const [claims, setClaims] = createSignal('');
  const [fault, setFault] = createSignal<string>();
  const live = () => (tokens.data() ?? []).filter(({ revoked }) => !revoked);
  const options = () => [
    { value: NONE, label: props.nobody },
    ...live().map(({ id, name }) => ({ value: id, label: `Token ${name}` })),
    { value: TYPED, label: 'Typed values' },
  ];
  const tell = (caller: Caller, text: string) => {
    setTyped(caller);
    setClaims(text);
    const parsed = parseClaims(text);
    setFault(parsed === undefined ? 'This isn’t a JSON object.' : undefined);
    if (parsed !== undefined) props.onChange({ ...caller, sub: caller.sub || null, claims: parsed });
  };
  const choose = (value: string) => {
    setChosen(value);
    if (value === TYPED) return tell(typed(), claims());
    const token = live().find(({ id }) => id === value);
    props.onChange(token === undefined ? undefined : callerOfToken(token));
  };
  return (
    <div class="stack">
      <Select label={props.label} options={options()} value={chosen()} onChange={choose} />
      <Show when={chosen() === TYPED}>
        <div class="grid-2">
          <TextField label="ID" mono optional value={typed().sub ?? ''} onInput={(sub) => tell({ ...typed(), sub }, claims())} />
          <TagsField
            label="Groups"
            optional
            value={typed().groups ?? []}
            onChange={(groups) => tell({ ...typed(), groups }, claims())}
          />
        </div>
        <TextArea
          label="Claims"
          mono
          optional
          rows={2}
          placeholder={'{"tenant_id": "acme"}'}
          value={claims()}
          onInput={(text) => tell(typed(), text)}
          error={fault()}
        />
      </Show>
    </div>
  );
}

const Claims = v.record(v.string(), v.unknown());

function parseClaims(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const parsed = v.safeParse(Claims, JSON.parse(text));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

import { createMemo, createSignal, For, Show } from 'solid-js';
import type { Person } from '#core/contract/identity/people.ts';
import { type Role, ROLE_CHOICES, ROLES } from '#core/contract/roles.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge, StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { NoResults } from '#ui/src/components/empty-state.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { onDialogLink } from '#ui/src/kernel/route/dialog-link.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams, text } from '#ui/src/kernel/route/search-params.ts';
import { PersonForm } from './person-form.tsx';
import { usePeople } from './use-people.ts';
import './people.css';

const PAGE = 500;
const TONES: Readonly<Record<Role, Tone>> = {
  owner: 'warning',
  admin: 'warning',
  editor: 'info',
  viewer: 'plain',
  caller: 'plain',
};

/** Groups shown per row; the tooltip lists all. */
const GROUPS_SHOWN = 3;

/** People who sign in: invite, assign role and groups, disable, remove. */
export function People() {
  const { router, session, toasts } = useKernel();
  const filters = createSearchParams(router, { q: text(), role: choice(ROLES) });
  const [inviting, setInviting] = createSignal(false);
  const [editing, setEditing] = createSignal<Person>();
  const people = usePeople();
  const list = useQuery(
    (read) => {
      const [search, role] = [filters.get('q'), filters.get('role')];
      const filter = { ...(search === '' ? {} : { search }), ...(role === undefined ? {} : { role }) };
      return allOf((skip, limit) => read('people.list', { ...filter, skip, limit }), PAGE);
    },
    { watch: () => [filters.get('q'), filters.get('role')] },
  );
  const groups = createMemo(() => [...new Set((list.data()?.items ?? []).flatMap((person) => person.groups))].toSorted());
  const isSelf = ({ username }: Person) => username === session.username();
  /** Only owners manage owners; the person's account has a separate page. */
  const isMine = ({ role }: Person) => role !== 'owner' || session.role() === 'owner';
  onDialogLink(router, 'invite', () => setInviting(true));
  useCommands([{ id: 'invite-person', title: 'Invite person', group: 'This page', key: 'n', run: () => setInviting(true) }]);

  return (
    <Page
      title="People"
      lead="Who signs in to this server and to its tools. The role decides what each person can do."
      actions={
        <Button kind="primary" icon="plus" onPress={() => setInviting(true)}>
          Invite person
        </Button>
      }
    >
      <FilterBar
        search={{ label: 'Search people', value: filters.get('q'), onInput: (q) => filters.set({ q }) }}
        active={filters.active()}
        onClear={() => filters.clear()}
      >
        <FilterSelect
          of={filters}
          name="role"
          label="Role"
          all="All roles"
          options={ROLES.toReversed().map((role) => ({ value: role, label: ROLE_CHOICES[role].label }))}
        />
      </FilterBar>
      <DataTable
        label="People"
        list={list}
        key={({ id }) => id}
        muted={({ enabled }) => !enabled}
        columns={[
          {
            id: 'name',
            head: 'Name',
            sort: ({ username }) => username,
            cell: (person) => (
              <span class="lines">
                <span class="row people-name">
                  <span class="long-name">
                    <Breakable text={person.display_name ?? person.username} />
                  </span>
                  <Show when={isSelf(person)}>
                    <Badge>You</Badge>
                  </Show>
                </span>
                <span class="small faint long-name">
                  <Breakable
                    text={[person.display_name === null ? undefined : person.username, person.email].filter(Boolean).join(' · ')}
                  />
                </span>
              </span>
            ),
          },
          {
            id: 'role',
            head: 'Role',
            sort: ({ role }) => ROLES.indexOf(role),
            cell: (person) => (
              <Badge tone={TONES[person.role]} title={ROLE_CHOICES[person.role].help ?? ''}>
                {ROLE_CHOICES[person.role].label}
              </Badge>
            ),
          },
          {
            id: 'groups',
            head: 'Groups',
            narrow: 'hide',
            cell: (person) => (
              <span class="row people-groups" title={person.groups.join(', ')}>
                <For each={person.groups.slice(0, GROUPS_SHOWN)}>{(group) => <span class="tag">{group}</span>}</For>
                <Show when={person.groups.length > GROUPS_SHOWN}>
                  <span class="small faint">{`+${person.groups.length - GROUPS_SHOWN}`}</span>
                </Show>
              </span>
            ),
          },
          { id: 'state', head: 'State', narrow: 'hide', cell: (person) => <State person={person} /> },
          { id: 'seen', head: 'Last seen', narrow: 'medium', time: ({ last_seen_at }) => last_seen_at },
        ]}
        actions={(person) => (
          <Show when={isMine(person)}>
            <Menu
              label={`More for ${person.username}`}
              size="small"
              items={[
                { label: 'Edit…', icon: 'sliders', onSelect: () => setEditing(person) },
                !isSelf(person) &&
                  person.enabled && {
                    label: person.can_sign_in ? 'New sign-in link…' : 'New invitation link…',
                    icon: 'link',
                    onSelect: () => void people.invite(person),
                  },
                !isSelf(person) &&
                  person.totp_enabled && {
                    label: 'Reset second factor…',
                    icon: 'shield',
                    onSelect: () => void people.reset(person),
                  },
                !isSelf(person) && { label: 'Sign out everywhere…', icon: 'leave', onSelect: () => void people.signOut(person) },
                !isSelf(person) && 'line',
                !isSelf(person) &&
                  (person.enabled
                    ? { label: 'Disable…', icon: 'pause', onSelect: () => void people.disable(person) }
                    : { label: 'Enable', icon: 'play', onSelect: () => void people.enable(person) }),
                !isSelf(person) && {
                  label: 'Remove…',
                  icon: 'trash',
                  danger: true,
                  onSelect: () => void people.remove(person),
                },
              ]}
            />
          </Show>
        )}
        empty={<NoResults onClear={() => filters.clear()} />}
      />
      <Dialog open={inviting()} title="Invite a person" size="wide" onClose={() => setInviting(false)}>
        <PersonForm
          groups={groups()}
          onDone={(person) => {
            setInviting(false);
            void people.act(() => people.makeLink(person));
          }}
          onCancel={() => setInviting(false)}
        />
      </Dialog>
      <DialogOf of={editing()} title={({ username }) => `Edit ${username}`} size="wide" onClose={() => setEditing(undefined)}>
        {(person) => (
          <PersonForm
            person={person}
            groups={groups()}
            onDone={({ username }) => {
              setEditing(undefined);
              toasts.show(`Saved ${username}.`, 'good');
              if (isSelf(person)) void session.refresh();
            }}
            onCancel={() => setEditing(undefined)}
          />
        )}
      </DialogOf>
      <SecretOnce
        of={people.invitation()}
        title={({ name }) => `Invitation for ${name}`}
        secrets={({ url }) => [{ label: 'Invitation link', value: url }]}
        onClose={people.dismiss}
      >
        {() => <p class="small soft">Send this link yourself: Sluice sends no email. The link works once, for 72 hours.</p>}
      </SecretOnce>
    </Page>
  );
}

function State(props: { person: Person }) {
  const state = (): { tone: Tone; label: string } => {
    const { enabled, can_sign_in, invite_expires_at, sign_in, totp_enabled } = props.person;
    if (!enabled) return { tone: 'plain', label: 'Disabled' };
    if (can_sign_in) {
      const label = sign_in === 'oidc' ? 'Identity provider' : totp_enabled ? 'Two factors' : 'Enabled';
      return { tone: 'good', label };
    }
    if (invite_expires_at === null) return { tone: 'plain', label: 'Not invited yet' };
    const over = Date.parse(invite_expires_at) < Date.now();
    return { tone: over ? 'plain' : 'info', label: over ? 'Invitation expired' : 'Invited' };
  };
  return <StatusDot tone={state().tone} label={state().label} />;
}

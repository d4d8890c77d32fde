import { type Person, PersonDraft } from '#core/contract/identity/people.ts';
import { type Role, ROLE_CHOICES, ROLES } from '#core/contract/roles.ts';
import { RadioCards } from '#ui/src/components/form/choice.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { useRecordForm } from '#ui/src/components/use-form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

interface Draft extends Record<string, unknown> {
  username: string;
  display_name: string | null;
  email: string | null;
  role: Role;
  groups: string[];
  enabled: boolean;
}

const NEW: Draft = { username: '', display_name: null, email: null, role: 'viewer', groups: [], enabled: true };

function toDraft(person: Person | undefined): Draft {
  if (person === undefined) return { ...NEW };
  const { username, display_name, email, role, groups, enabled } = person;
  return { username, display_name, email, role, groups: [...groups], enabled };
}

/** A new person, or what is changed of one. Roles are explained where they are chosen. */
export function PersonForm(props: {
  person?: Person | undefined;
  /** Every group that is in use. */
  groups: readonly string[];
  onDone: (person: Person) => void;
  onCancel: () => void;
}) {
  const { call, session } = useKernel();
  const form = useRecordForm({
    record: () => props.person,
    kind: 'admin',
    schema: PersonDraft,
    toValues: toDraft,
    read: ({ id }) => call('people.get', { id }),
    unsaved: 'The changes to this person are not saved.',
    save: (draft, stored) =>
      stored === undefined
        ? call('people.create', draft)
        : call('people.update', { ...draft, id: stored.id, version: stored.version }),
    onDone: (person) => props.onDone(person),
  });
  // Owners are the business of owners; the most comes first.
  const roles = () =>
    ROLES.toReversed()
      .filter((role) => role !== 'owner' || session.role() === 'owner')
      .map((role) => ({ value: role, label: ROLE_CHOICES[role].label, hint: ROLE_CHOICES[role].help }));

  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <FormField form={form} name="username" />
      <FormField form={form} name="display_name" optional />
      <FormField form={form} name="email" optional />
      <RadioCards
        label="Role"
        options={roles()}
        value={form.values.role}
        onChange={(role) => form.set('role', role)}
        error={form.error('role')}
      />
      <TagsField
        label="Groups"
        hint="Decide which toolsets the person may use."
        optional
        value={form.values.groups}
        onChange={(groups) => form.set('groups', groups)}
        suggestions={props.groups}
        error={form.error('groups')}
      />
      <FormFoot
        form={form}
        submit={props.person === undefined ? 'Create invitation' : 'Save'}
        always
        onCancel={() => props.onCancel()}
      />
    </form>
  );
}

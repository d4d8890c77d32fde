import type { Call } from '#ui/src/api.ts';
import type { MenuItem } from '#ui/src/components/menu.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import type { Column } from '#ui/src/components/table/data-table.tsx';
import { In } from '#ui/src/components/time.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';

const DAYS = [7, 30, 90, 180, 365];
const [DEFAULT, NEVER] = ['default', 'never'];

/** How long a new secret works. Absent in the form: the default of the server. */
export function LifetimeField(props: { form: Omit<Form, 'changed'> }) {
  const config = useQuery((read) => read('config.get', {}));
  const most = () => config.data()?.token_max_days ?? 0;
  const usual = () => {
    const days = config.data()?.token_default_days ?? 90;
    return most() === 0 ? days : Math.min(days, most());
  };
  const chosen = () => {
    const days = props.form.value('expires_in_days');
    if (days === null) return NEVER;
    return typeof days === 'number' ? String(days) : DEFAULT;
  };
  const options = () => [
    { value: DEFAULT, label: `${plural(usual(), 'day')} (default)` },
    ...DAYS.filter((days) => most() === 0 || days <= most()).map((days) => ({ value: String(days), label: plural(days, 'day') })),
    ...(most() === 0 && config.data() !== undefined ? [{ value: NEVER, label: 'Never expires' }] : []),
  ];
  const choose = (value: string) =>
    props.form.set('expires_in_days', value === DEFAULT ? undefined : value === NEVER ? null : Number(value));
  return (
    <FormField
      form={props.form}
      name="expires_in_days"
      hint="Refused after this time. You get a notice 30 days, 7 days and one day before, and can rotate it."
      draw={(words) => <Select {...words} options={options()} value={chosen()} onChange={choose} />}
    />
  );
}

interface Ending {
  readonly expires_at: string | null;
  readonly rotation_ends_at: string | null;
}

export const EXPIRES: Column<Ending> = {
  id: 'expires',
  head: 'Expires',
  cell: (row) => (row.expires_at === null ? <span class="faint">Never</span> : <In iso={row.expires_at} past="Expired" />),
  sort: ({ expires_at }) => expires_at,
};

/** Actions that give a credential a new secret, which is then shown. @param rotate sends the request. */
export function useRotation() {
  const { call, dialogs } = useKernel();
  const { act } = useAct();
  return <R extends { readonly name: string }, M extends R>(
    row: R,
    rotate: (call: Call) => Promise<M>,
    show: (rotated: M) => void,
  ): MenuItem => ({
    label: 'Rotate',
    icon: 'refresh',
    onSelect: () => {
      const ask = dialogs.confirm({
        title: `Rotate “${row.name}”?`,
        text: 'It gets a new secret and a new end. The current secret works for 24 hours more, so that clients can be changed.',
        action: 'Rotate',
      });
      void ask.then(async (agreed) => {
        const rotated = agreed ? await act(() => rotate(call)) : undefined;
        if (rotated !== undefined) show(rotated);
      });
    },
  });
}

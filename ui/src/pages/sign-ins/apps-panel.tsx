import { Show } from 'solid-js';
import { operations, type Output } from '#core/contract/index.ts';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { EXPIRES, LifetimeField, useRotation } from '#ui/src/features/connect/token-ends.tsx';
import type { RecordKind } from '#ui/src/features/records/record-form.tsx';
import { RecordPanel } from '#ui/src/features/records/record-panel.tsx';
import { fieldColumn } from '#ui/src/fields/field-column.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';

type Created = Output<'oauth_apps.create'>;

interface Draft extends Record<string, unknown> {
  name: string;
  redirect_uris: string[];
  confidential: boolean;
  trusted: boolean;
  expires_in_days?: number | null;
}

const DRAFT = operations['oauth_apps.create'].input;
const APPS: RecordKind<OauthApp, Draft, Created> = {
  type: 'oauth_app',
  noun: 'app',
  nameOf: ({ name }) => name,
  list: (read, skip, limit) => read('oauth_apps.list', { skip, limit }),
  schema: DRAFT,
  blank: { name: '', redirect_uris: [], confidential: false, trusted: false },
  toValues: ({ name, redirect_uris, confidential, trusted }) => ({ name, redirect_uris, confidential, trusted }),
  // An app keeps its type.
  fields: (app) => ['name', 'redirect_uris', ...(app === undefined ? ['confidential', 'expires_in_days'] : []), 'trusted'],
  draw: { expires_in_days: (form) => <Show when={form.values.confidential}>{<LifetimeField form={form} />}</Show> },
  create: (call, values) => call('oauth_apps.create', values),
  update: (call, { name, redirect_uris, trusted }, { id, version }) =>
    call('oauth_apps.update', { id, version, name, redirect_uris, trusted }),
  remove: (call, { id }) => call('oauth_apps.delete', { id }),
  removal: {
    verb: 'Delete',
    undo: true,
    text: () => 'Everyone who signed in with it is signed out within a second. You can restore the app from the history.',
  },
};

/** Clients that an administrator registers by hand. */
export function AppsPanel() {
  const { call, dialogs } = useKernel();
  const { act } = useAct();
  const rotation = useRotation();
  const renew = async ({ id, version, name, client_secret_set }: OauthApp, show: (created: Created) => void) => {
    const agreed =
      !client_secret_set ||
      (await dialogs.confirm({
        title: `New secret for ${name}?`,
        text: 'The current secret stops working at once. Enter the new one in the app.',
        action: 'New secret',
        danger: true,
      }));
    const app = agreed ? await act(() => call('oauth_apps.renew_secret', { id, version })) : undefined;
    if (app !== undefined) show(app);
  };
  return (
    <RecordPanel
      of={APPS}
      title="OAuth apps"
      lead="Clients that you register by hand because they can neither register themselves nor publish a metadata document."
      icon="key"
      new_title="New OAuth app"
      empty={{
        title: 'No apps',
        text: 'Most clients don’t need one, because they register themselves or publish a metadata document.',
      }}
      columns={[
        fieldColumn(DRAFT, 'name'),
        {
          id: 'client_id',
          head: 'Client ID',
          narrow: 'hide',
          cell: (row) => <span class="mono small">{row.client_id}</span>,
        },
        {
          id: 'kind',
          head: 'Type',
          cell: (row) => (
            <span class="row">
              {row.confidential ? 'With secret' : 'Public'}
              <Show when={row.confidential && !row.client_secret_set}>
                <Badge tone="bad">Secret missing</Badge>
              </Show>
              <Show when={row.trusted}>
                <Badge tone="warning">Trusted</Badge>
              </Show>
            </span>
          ),
        },
        { ...EXPIRES, cell: (row) => <Show when={row.confidential}>{EXPIRES.cell?.(row)}</Show> },
      ]}
      actions={(app, show) =>
        app.confidential
          ? [
              ...(app.client_secret_set
                ? [
                    rotation<OauthApp, Created>(
                      app,
                      (call) => call('oauth_apps.rotate', { id: app.id, version: app.version }),
                      show,
                    ),
                  ]
                : []),
              { label: 'Renew secret of', icon: 'key', onSelect: () => void renew(app, show) },
            ]
          : []
      }
      secrets={{
        title: ({ name }) => `App “${name}”`,
        secrets: ({ client_id, client_secret }) => [
          { label: 'Client ID', value: client_id },
          ...(client_secret === null ? [] : [{ label: 'Client secret', value: client_secret }]),
        ],
      }}
    />
  );
}

import { Page } from '#ui/src/components/page.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams } from '#ui/src/kernel/route/search-params.ts';
import { LivePanel } from './live-panel.tsx';
import { RefusalsPanel } from './refusals-panel.tsx';
import { RequestsPanel } from './requests-panel.tsx';
import { SessionsPanel } from './sessions-panel.tsx';
import './logs.css';

/** The live log and the log of calls. */
export function Logs() {
  const { router, session } = useKernel();
  /** What holds addresses and lines of programs is for administrators. */
  const all = session.may('logs.refusals');
  const params = createSearchParams(router, { view: choice(['live', 'requests', 'sessions', 'refusals']) });
  const first = all ? 'live' : 'requests';
  return (
    <Page
      title="Logs"
      lead={
        all
          ? 'Live log of the server and its hosts, every call of the last 30 days (at most a million), and refused requests.'
          : 'Every call of the last 30 days (at most a million), and what each client did.'
      }
      width="full"
    >
      <Tabs
        label="Logs"
        value={params.get('view') ?? first}
        onChange={(view) => router.navigate(view === first ? '/logs' : `/logs?view=${view}`, { replace: true })}
        tabs={[
          ...(all ? [{ value: 'live' as const, label: 'Live', panel: () => <LivePanel /> }] : []),
          { value: 'requests', label: 'Calls', panel: () => <RequestsPanel /> },
          { value: 'sessions', label: 'Sessions', panel: () => <SessionsPanel /> },
          ...(all ? [{ value: 'refusals' as const, label: 'Refusals', panel: () => <RefusalsPanel /> }] : []),
        ]}
      />
    </Page>
  );
}

import { Page } from '#ui/src/components/page.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { LivePanel } from './live-panel.tsx';
import { RefusalsPanel } from './refusals-panel.tsx';
import { RequestsPanel } from './requests-panel.tsx';
import { SessionsPanel } from './sessions-panel.tsx';
import { WORDS } from './words.ts';
import './logs.css';

/** The live log and the log of calls. */
export function Logs() {
  const { router } = useKernel();
  const params = createSearchParams(router, { view: oneOf(['live', 'requests', 'sessions', 'refusals']) });
  return (
    <Page
      title="Logs"
      lead="Live log of the server and its hosts, every call of the last 30 days, and refused requests."
      width="full"
    >
      <Tabs
        label="Logs"
        value={params.get('view')}
        onChange={(view) => router.navigate(view === 'live' ? '/logs' : `/logs?view=${view}`, { replace: true })}
        tabs={[
          { value: 'live', label: 'Live', panel: () => <LivePanel /> },
          { value: 'requests', label: WORDS.requests, panel: () => <RequestsPanel /> },
          { value: 'sessions', label: WORDS.sessions, panel: () => <SessionsPanel /> },
          { value: 'refusals', label: WORDS.refusals, panel: () => <RefusalsPanel /> },
        ]}
      />
    </Page>
  );
}

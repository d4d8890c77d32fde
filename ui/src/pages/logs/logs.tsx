import { Page } from '#ui/src/components/page.tsx';
import { Views } from '#ui/src/components/show/views.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { AuditPanel } from './audit/audit-panel.tsx';
import { FailuresPanel } from './failures-panel.tsx';
import { LivePanel } from './live-panel.tsx';
import { RefusalsPanel } from './refusals-panel.tsx';
import { RequestsPanel } from './requests-panel.tsx';
import { SessionsPanel } from './sessions-panel.tsx';
import './logs.css';

/** Views without audit entries, addresses of callers and lines of programs, which are for administrators. */
const FOR_ALL: ReadonlySet<string> = new Set(['requests', 'failures', 'sessions']);

const LEADS = {
  requests:
    'Every call, kept for 30 days and at most a million unless the server says otherwise. Select one to see its error, times and caller.',
  failures: 'Failed calls by their error, with the callers that got it.',
  sessions: 'What each client did, in order.',
  refusals: 'Requests that were refused before a call.',
  audit: 'Who changed, deployed, called, approved and signed in. Each entry is chained to the one before it.',
  live: 'What the server and its hosts write now.',
} as const;

/** The live log and the log of calls. */
export function Logs() {
  const { router, session } = useKernel();
  const all = session.may('logs.refusals');
  const params = createSearchParams(router, { view: oneOf(['requests', 'failures', 'sessions', 'refusals', 'live', 'audit']) });
  const view = () => (all || FOR_ALL.has(params.get('view')) ? params.get('view') : 'requests');
  return (
    <Page title="Logs" lead={LEADS[view()]} width="full">
      <Views
        value={view()}
        views={{
          requests: () => <RequestsPanel />,
          failures: () => <FailuresPanel />,
          sessions: () => <SessionsPanel />,
          refusals: () => <RefusalsPanel />,
          live: () => <LivePanel />,
          audit: () => <AuditPanel />,
        }}
      />
    </Page>
  );
}

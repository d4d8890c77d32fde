import { Show } from 'solid-js';
import { ServingBadge } from '#ui/src/features/deploy/serving-badge.tsx';
import { ConnectTexts } from '#ui/src/features/connect/connect-texts.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { Snippet } from '#ui/src/components/show/snippet.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { fullDay } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { CallablePanel } from './callable-panel.tsx';
import { contactOf, type Home, outageOf, SIGN_IN_WORDS } from './words.ts';
import './caller-home.css';

const CONNECT = 'Connect a client';

/** The home page of a person who only calls tools: how to connect a client, and which tools are available. */
export function CallerHome() {
  const home = useQuery((read) => read('home.get', {}));
  const lead = () => {
    const invited = home.data()?.invited;
    const about = 'The tools that you can call from MCP clients.';
    return invited ? `${about} Invited by ${invited.by} on ${fullDay(invited.at)}.` : about;
  };
  return (
    <Page
      title={home.data()?.server?.server_name ?? 'Home'}
      tab="Home"
      lead={lead()}
      badge={<Show when={home.data()?.server && home.data()}>{(shown) => <ServingBadge of={shown()} />}</Show>}
    >
      <Loaded of={home} rows={6} label="Loading your tools">
        {(shown) => (
          <Show
            when={shown().server}
            fallback={
              <EmptyState icon="rocket" title="Nothing is deployed yet" framed>
                <p>{`Your tools and the address for your client appear here after the first deploy. Ask ${contactOf(shown())} when that will be.`}</p>
              </EmptyState>
            }
          >
            {(server) => (
              <div class="page-columns caller-columns">
                <ConnectHere home={shown()} server={server()} />
                <CallablePanel home={shown()} />
              </div>
            )}
          </Show>
        )}
      </Loaded>
    </Page>
  );
}

function ConnectHere(props: { home: Home; server: NonNullable<Home['server']> }) {
  const { session } = useKernel();
  const contact = () => contactOf(props.home);
  const signs_in = () => props.server.auth_type === 'oauth';
  /** With a single toolset, the main address serves the same tools. */
  const several = () => (props.home.toolsets.length > 1 ? props.home.toolsets : []);
  const problem = () => (signs_in() ? props.home.sign_in_problem : null);
  return (
    <Panel title={CONNECT}>
      <Show when={outageOf(props.home, contact())}>
        {(text) => (
          <Notice tone="warning">
            <p>{text()}</p>
          </Notice>
        )}
      </Show>
      <Show when={props.server.transport !== 'stdio'}>
        <Snippet label="the MCP address" text={props.server.mcp_url} />
        <Show when={problem()}>
          {(text) => (
            <Notice tone="warning" title={`You can’t sign in from a client yet. Ask ${contact()}.`}>
              <p>{text()}</p>
            </Notice>
          )}
        </Show>
        <ConnectTexts
          server={props.server}
          label={CONNECT}
          toolsets={several()}
          everything="All your toolsets"
          advice={SIGN_IN_WORDS[props.server.auth_type](contact(), session.username())}
        />
        <Show when={signs_in()}>
          <p class="small soft">
            Clients that you signed in with are on your <Link href="/account">account page</Link>.
          </p>
        </Show>
      </Show>
    </Panel>
  );
}

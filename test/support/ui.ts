import { afterAll, beforeAll, expect } from 'bun:test';
import type { Browser, BrowserContext, Locator, Page, Request } from 'playwright-core';
import { expectAccessible } from './axe.ts';
import { look, openBrowser, openPage } from './browser.ts';
import { type ProgramOptions, type Programs, removeFolder, startPrograms, until } from './programs.ts';

/** The administrator of `Programs.signIn`. */
export const ACCOUNT = { username: 'ada', password: 'correct horse' } as const;
/** A whole walk on a machine that does other things as well. */
export const LIMIT_MS = 180_000;

const READY_MS = 60_000;
/** Longer than any page waits between two looks at the server. */
export const POLL_MS = 15_500;
const QUIET_MS = 100;

export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: string[];
}

export interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** Every page for administrators, and every part of those that poll. */
export const PATHS = [
  '/',
  '/connections',
  '/connections/new',
  '/tools',
  '/resources',
  '/prompts',
  '/deploy',
  '/deploy?view=versions',
  '/deploy?view=code',
  '/history',
  '/transfer',
  '/access',
  '/agents',
  '/settings',
  '/metrics',
  '/insights',
  '/logs',
  '/queue',
  '/flow',
  '/flow?mode=definitions',
  '/playground',
  '/account',
];

/** How a page is opened that has to be fit for every look: narrow and in light, wide and in dark. */
const FIRST_LOOKS: readonly Look[] = [
  { width: 360, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
];

export interface Ui {
  /** From the first test on. */
  readonly programs: Programs;
  readonly browser: Browser;
  /** A page of a fresh profile in which the administrator is signed in. */
  signedIn(this: void, width?: number, scheme?: 'light' | 'dark'): Promise<Opened>;
}

interface UiOptions extends ProgramOptions {
  /** Waits until a host serves what the demo has deployed. */
  readonly live?: boolean;
  /** False: nothing is started, since the tests of the file are skipped. */
  readonly needed?: boolean;
  /** What has to be there before the first test. */
  readonly prepare?: (programs: Programs) => Promise<void>;
  readonly cleanup?: () => Promise<void>;
}

/** The programs, their administrator and a browser for the tests of one file. */
export function startUi({ live = false, needed = true, prepare, cleanup, ...options }: UiOptions = {}): Ui {
  let programs: Programs | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (!needed) return;
    // A browser takes as long to start as the programs.
    [programs, browser] = await Promise.all([startPrograms(options), openBrowser()]);
    await programs.signIn();
    if (live) await serves(programs);
    else if (options.env?.['SVC_DEMO'] !== 'false') await hasDemo(programs);
    await prepare?.(programs);
  }, 2 * READY_MS);
  afterAll(async () => {
    await browser?.close();
    await programs?.stop();
    if (programs !== undefined) removeFolder(programs);
    await cleanup?.();
  }, READY_MS);

  const there = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('The programs did not start.');
    return part;
  };
  return {
    get programs() {
      return there(programs);
    },
    get browser() {
      return there(browser);
    },
    async signedIn(width = 1280, scheme = 'light') {
      const opened = await openPage(there(browser), { width, scheme });
      await opened.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: there(programs).url });
      const answer = await opened.context.request.post(`${there(programs).url}/api/v1/auth/login`, { data: ACCOUNT });
      expect(answer.status()).toBe(200);
      return opened;
    },
  };
}

/** The demo is imported and deployed once the server answers. Where a folder has other definitions, it never is. */
const hasDemo = (programs: Programs): Promise<void> =>
  until(
    async () => (await programs.api<{ snapshot_version: number | null }>('GET', '/deploy/status')).snapshot_version !== null,
    5_000,
  ).catch(() => undefined);

const serves = (programs: Programs): Promise<void> =>
  until(
    async () => {
      const { hosts } = await programs.api<{ hosts: { snapshot_version: number | null }[] }>('GET', '/deploy/status');
      return hosts.some(({ snapshot_version }) => snapshot_version !== null);
    },
    READY_MS,
    () => programs.output(),
  );

/** Nothing went wrong. A refused call that a test asked for stands in the console too. */
export async function close({ context, faults }: Opened, asked: readonly number[] = []): Promise<void> {
  const unexpected = faults.filter((fault) => !asked.some((status) => fault.includes(`a status of ${status}`)));
  expect(unexpected).toEqual([]);
  await context.close();
}

export const toast = (page: Page, text: string | RegExp) => page.getByRole('status').getByText(text).first();

/** Time passes for a page, whose clock is installed, until a poll of it has brought what is looked for. */
export async function untilPolled(page: Page, shown: Locator): Promise<void> {
  for (let turn = 0; turn < 40 && !(await shown.isVisible()); turn++) {
    await page.clock.fastForward(POLL_MS);
    await Bun.sleep(100);
  }
  await shown.waitFor();
}

/** What waits until a page, which has asked for nothing yet, has all that it asked for and reads nothing more. */
export function quietOf(page: Page): () => Promise<void> {
  const open = new Set<Request>();
  let changed_at = performance.now();
  const changes = (request: Request, is_open: boolean) => {
    if (is_open) open.add(request);
    else open.delete(request);
    changed_at = performance.now();
  };
  page.on('request', (request) => changes(request, true));
  page.on('requestfinished', (request) => changes(request, false));
  page.on('requestfailed', (request) => changes(request, false));
  page.on('response', (response) => {
    // A stream has no end.
    if (response.headers()['content-type']?.startsWith('text/event-stream')) changes(response.request(), false);
  });
  const isQuiet = async () =>
    open.size === 0 && performance.now() - changed_at > QUIET_MS && (await page.locator('[aria-busy=true]').count()) === 0;
  return () => {
    changed_at = performance.now();
    return until(isQuiet, READY_MS, () => [...open].map((request) => request.url()).join(', '));
  };
}

/** The page as it is now: nothing is cut off at the side, axe finds nothing serious. */
export async function inspect(page: Page, name: string, { width, scheme }: Look): Promise<void> {
  await look(page, `${name}-${width}-${scheme}`);
  await expectAccessible(page, `${name} at ${width} px, ${scheme}`);
}

export interface Place {
  readonly name: string;
  readonly path: string;
  /** A text or a selector that is there when the page shows what it has. */
  readonly ready: string | { readonly css: string };
}

export interface Walk {
  /** Inspects the page as it is now, in both themes. */
  readonly check: (name: string) => Promise<void>;
  readonly width: number;
}

/** Colours move to those of another theme, however short the time. */
async function settled(): Promise<void> {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const moves = (animation: Animation) => animation instanceof CSSTransition && animation.playState === 'running';
  await frame();
  do await frame();
  while (document.getAnimations().some(moves));
}

/** Walks through a page that is opened narrow in light and wide in dark, and inspected in the other theme as well wherever the walk stops. */
export async function inEveryLook(
  open: (width: number, scheme: Look['scheme']) => Promise<Opened>,
  walk: (page: Page, walk: Walk) => Promise<void>,
  { looks = FIRST_LOOKS, asked = [] as readonly number[] } = {},
): Promise<void> {
  for (const first of looks) {
    const opened = await open(first.width, first.scheme);
    const { page } = opened;
    const check = async (name: string) => {
      for (const scheme of [first.scheme, first.scheme === 'light' ? 'dark' : 'light'] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.evaluate(settled);
        await inspect(page, name, { width: first.width, scheme });
      }
      await page.emulateMedia({ colorScheme: first.scheme });
    };
    await walk(page, { check, width: first.width });
    await close(opened, asked);
  }
}

/** Walks pages in every look. */
export const inspectAll = (ui: Ui, places: readonly Place[]): Promise<void> =>
  inEveryLook(ui.signedIn, async (page, { check }) => {
    for (const { name, path, ready } of places) {
      await page.goto(`${ui.programs.url}${path}`);
      const there = typeof ready === 'string' ? page.getByRole('main').getByText(ready) : page.locator(ready.css);
      await there.first().waitFor();
      await check(name);
    }
  });

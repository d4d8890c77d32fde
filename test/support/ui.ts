import { afterAll, beforeAll, expect } from 'bun:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expectAccessible } from './axe.ts';
import { look, openBrowser, openPage } from './browser.ts';
import { type ProgramOptions, type Programs, removeFolder, startPrograms, until } from './programs.ts';

/** The administrator of `Programs.signIn`. */
export const ACCOUNT = { username: 'ada', password: 'correct horse' } as const;
/** A whole walk on a machine that does other things as well. */
export const LIMIT_MS = 180_000;

const READY_MS = 60_000;

export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: string[];
}

export interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** Every look that a page has to be fit for. */
export const LOOKS: readonly Look[] = [
  { width: 360, scheme: 'light' },
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
];

export interface Ui {
  /** From the first test on. */
  readonly programs: Programs;
  readonly browser: Browser;
  /** A page of a fresh profile in which the administrator is signed in. */
  signedIn(width?: number, scheme?: 'light' | 'dark'): Promise<Opened>;
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
    programs = await startPrograms(options);
    await programs.signIn();
    if (live) await serves(programs);
    await prepare?.(programs);
    browser = await openBrowser();
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

/** Walks pages in every look. */
export async function inspectAll(ui: Ui, places: readonly Place[]): Promise<void> {
  for (const one of LOOKS) {
    const opened = await ui.signedIn(one.width, one.scheme);
    for (const { name, path, ready } of places) {
      await opened.page.goto(`${ui.programs.url}${path}`);
      const there = typeof ready === 'string' ? opened.page.getByRole('main').getByText(ready) : opened.page.locator(ready.css);
      await there.first().waitFor();
      await inspect(opened.page, name, one);
    }
    await close(opened);
  }
}

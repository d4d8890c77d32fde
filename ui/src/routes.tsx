import { type Component, lazy } from 'solid-js';
import type { IconName } from './components/icon.tsx';
import type { Audience } from './kernel/session.ts';

export interface Route {
  readonly path: string;
  readonly title: string;
  readonly audience: Audience;
  /** Stands in the navigation when given. */
  readonly icon?: IconName;
  readonly page: Component;
}

export const routes: readonly Route[] = [
  {
    path: '/',
    title: 'Overview',
    audience: 'member',
    icon: 'gauge',
    page: lazy(async () => ({ default: (await import('./pages/overview/overview.tsx')).Overview })),
  },
  {
    path: '/setup',
    title: 'First administrator',
    audience: 'setup',
    page: lazy(async () => ({ default: (await import('./pages/setup/setup.tsx')).Setup })),
  },
  {
    path: '/login',
    title: 'Sign in',
    audience: 'login',
    page: lazy(async () => ({ default: (await import('./pages/login/login.tsx')).Login })),
  },
];

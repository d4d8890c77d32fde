import { createContext, useContext } from 'solid-js';

interface RouteInfo {
  /** Parameters of the path. */
  readonly params: () => Readonly<Record<string, string>>;
  /** Loads the code of the page at this address ahead of the navigation. */
  readonly prefetch: (href: string) => void;
  /** Whether the person's role may open the page at this address. */
  readonly mayOpen: (href: string) => boolean;
}

export const RouteContext = createContext<RouteInfo>({ params: () => ({}), prefetch: () => undefined, mayOpen: () => true });

/** `id` of `/tools/:id`. Each path creates a new page, so the value does not change within a page. */
export const useParams = (): Readonly<Record<string, string>> => useContext(RouteContext).params();

export const useMayOpen = (): ((href: string) => boolean) => useContext(RouteContext).mayOpen;

export const usePrefetch = (): ((href: string) => void) => useContext(RouteContext).prefetch;

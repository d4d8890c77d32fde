import { createContext, useContext } from 'solid-js';

interface RouteInfo {
  /** The variables of the path. */
  readonly params: () => Readonly<Record<string, string>>;
  /** Loads the code of the page at this address, so that it is there when it is wanted. */
  readonly prefetch: (href: string) => void;
  /** Whether the role of the person may see the page at this address. */
  readonly mayOpen: (href: string) => boolean;
}

export const RouteContext = createContext<RouteInfo>({ params: () => ({}), prefetch: () => undefined, mayOpen: () => true });

/** `id` of `/tools/:id`. A page is made anew for every path, so this does not change under it. */
export const useParams = (): Readonly<Record<string, string>> => useContext(RouteContext).params();

export const useMayOpen = (): ((href: string) => boolean) => useContext(RouteContext).mayOpen;

export const usePrefetch = (): ((href: string) => void) => useContext(RouteContext).prefetch;

import { createContext, useContext } from 'solid-js';

export interface RouteInfo {
  /** The variables of the path. */
  readonly params: () => Readonly<Record<string, string>>;
  /** Loads the code of the page at this address, so that it is there when it is wanted. */
  readonly prefetch: (href: string) => void;
}

export const RouteContext = createContext<RouteInfo>({ params: () => ({}), prefetch: () => undefined });

/** `id` of `/tools/:id`. A page is made anew for every path, so this does not change under it. */
export const useParams = (): Readonly<Record<string, string>> => useContext(RouteContext).params();

export const usePrefetch = (): ((href: string) => void) => useContext(RouteContext).prefetch;

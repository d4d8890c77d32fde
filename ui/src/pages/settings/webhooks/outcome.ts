import type { Delivery } from '#core/contract/observe/notices.ts';

/** The result of a delivery attempt as text. */
export const outcomeOf =
  (delivered: (response_status: number | null) => string) =>
  ({ status, error, response_status }: Delivery): string | { readonly bad: string } =>
    status === 'delivered' ? delivered(response_status) : { bad: `The event was not delivered. ${error ?? ''}`.trimEnd() };

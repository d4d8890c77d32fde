import { isPerson } from '#core/context/roles.ts';
import { type LoggedError, tokenMessage } from '#core/query/masked-errors.ts';
import type { Actor } from '#core/context/context.ts';

/** Why a call failed, as this reader may know it. */
export const messageFor = (actor: Actor | null, call: LoggedError): string | null =>
  isPerson(actor, 'caller') ? call.error_message : tokenMessage(call);

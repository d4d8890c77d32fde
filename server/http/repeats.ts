import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { createHash } from 'node:crypto';
import { getSealed, setSealed } from '#core/platform/sealed-kv.ts';
import { mayHaveOthers, withLease } from '#core/platform/leases.ts';
import { AppError } from '#core/errors.ts';
import type { RequestContext } from '#core/context/context.ts';

/** Longer than a person takes to press a button again. */
const KEPT_MS = 10 * 60_000;
/** How often a server looks for the answer of another one, and for how long. */
const LOOK_MS = 50;
const LONGEST_MS = 30_000;

/** What a caller says of a creation that it may send again. */
interface Sent {
  /** `Idempotency-Key`: the same for every attempt. */
  readonly key: string | undefined;
  /** Of this, who calls, how, and the proposal that it goes into make it another creation. */
  readonly call: Pick<RequestContext, 'actor' | 'by_name' | 'proposal'>;
  readonly name: string;
  readonly input: object;
}

/** @param create gets the app to create with. */
export type Repeats = <T>(sent: Sent, create: Create<T>) => Promise<T>;
type Create<T> = (app: ControlPlane) => Promise<T>;

/**
 * Creates once for each key: a caller that lost the answer, sends the same again and gets the answer of the first attempt, with the
 * secret that is shown only once. What was refused is tried again. Answers are kept sealed, for every server of the installation.
 */
export function createRepeats(app: ControlPlane): Repeats {
  const running = new Map<string, Promise<unknown>>();
  const createNew = async <T>(place: string, create: Create<T>, held = app): Promise<T> => {
    // Redis may be away: then it is made, and cannot be repeated.
    const kept = await getSealed(app, place).catch(() => null);
    if (kept !== null) return JSON.parse(kept) as T;
    const answer = await create(held);
    await setSealed(app, place, JSON.stringify(answer), KEPT_MS).catch(() => undefined);
    return answer;
  };
  /** Of several servers that got the same one creates, and the others wait for its answer. */
  const createAlone = async <T>(place: string, create: Create<T>): Promise<T> => {
    if (!mayHaveOthers(app)) return createNew(place, create);
    for (let waited = 0; waited < LONGEST_MS; waited += LOOK_MS) {
      const made = await withLease(app, place, async (held) => ({ answer: await createNew(place, create, held) }));
      if (made !== null) return made.answer;
      await app.sleep(LOOK_MS);
    }
    throw new AppError('unavailable', 'Another server is still working on the same request. Try again later.', {
      retry_after: 5,
    });
  };
  return async <T>({ key, call, name, input }: Sent, create: Create<T>) => {
    const { actor, by_name = false, proposal } = call;
    if (key === undefined || actor === null) return create(app);
    const text = JSON.stringify([actor.type, actor.id, by_name, proposal?.id, proposal?.note, name, input, key]);
    const place = `created/${createHash('sha256').update(text).digest('base64url')}`;
    const begun = running.get(place) ?? createAlone(place, create).finally(() => running.delete(place));
    running.set(place, begun);
    return (await begun) as T;
  };
}

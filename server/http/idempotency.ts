import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { createHash } from 'node:crypto';
import { getSealed, setSealed } from '#core/platform/sealed-kv.ts';
import { mayHaveOthers, withLease } from '#core/platform/leases.ts';
import { AppError } from '#core/errors.ts';
import type { RequestContext } from '#core/context/context.ts';

/** Long enough for a person to press a button again. */
const TTL_MS = 10 * 60_000;
/** How often a server checks for the answer of another one, and for how long. */
const LOOK_MS = 50;
const LONGEST_MS = 30_000;

/** A creation that the caller may repeat. */
interface Sent {
  /** `Idempotency-Key`: the same for every attempt. */
  readonly key: string | undefined;
  /** Another caller, addressing or proposal makes it a different creation. */
  readonly call: Pick<RequestContext, 'actor' | 'by_name' | 'proposal'>;
  readonly name: string;
  readonly input: object;
}

/** @param create gets the app to create with. */
export type Repeats = <T>(sent: Sent, create: Create<T>) => Promise<T>;
type Create<T> = (app: ControlPlane) => Promise<T>;

/**
 * Creates once per key: a caller that lost the answer repeats the request and gets the first answer, with the secret that is
 * shown only once. A refused request runs again. Answers are stored encrypted, for every server of the installation.
 */
export function createRepeats(app: ControlPlane): Repeats {
  const running = new Map<string, Promise<unknown>>();
  const createNew = async <T>(key: string, create: Create<T>, held = app): Promise<T> => {
    // Without Redis the record is created, but the answer cannot be repeated.
    const stored = await getSealed(app, key).catch(() => null);
    if (stored !== null) return JSON.parse(stored) as T;
    const answer = await create(held);
    await setSealed(app, key, JSON.stringify(answer), TTL_MS).catch(() => undefined);
    return answer;
  };
  /** When several servers receive the same request, one creates and the others wait for its answer. */
  const createAlone = async <T>(key: string, create: Create<T>): Promise<T> => {
    if (!mayHaveOthers(app)) return createNew(key, create);
    for (let waited = 0; waited < LONGEST_MS; waited += LOOK_MS) {
      const created = await withLease(app, key, async (held) => ({ answer: await createNew(key, create, held) }));
      if (created !== null) return created.answer;
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
    const answer_key = `created/${createHash('sha256').update(text).digest('base64url')}`;
    const begun = running.get(answer_key) ?? createAlone(answer_key, create).finally(() => running.delete(answer_key));
    running.set(answer_key, begun);
    return (await begun) as T;
  };
}

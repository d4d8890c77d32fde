import type { Auth } from './auth/authenticate.ts';
import { type Admission, LOCAL } from './auth/caller.ts';
import { type CandidateAuth, isCandidateOwner } from './auth/candidates.ts';
import type { Sessions } from './requests/sessions.ts';
import type { Streams } from './dispatch/streams.ts';
import { changesBetween } from './registry/changes.ts';
import type { Samples } from './call/samples.ts';
import type { ServingState } from './dispatch/serving.ts';
import type { Viewer, Views } from './registry/views.ts';

interface DismissalOptions {
  readonly serving: Pick<ServingState, 'held' | 'seenBy'>;
  readonly auth: Pick<Auth, 'holds' | 'rights'>;
  readonly candidates: Pick<CandidateAuth, 'holds'>;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly samples: Samples;
  readonly views: Views;
}

/** Ends the sessions and streams of callers whose credential is no longer valid; others continue with their current rights. */
export function createDismissal(options: DismissalOptions): () => void {
  const { serving, auth, candidates, sessions, streams, samples, views } = options;
  const seen = (viewer: Viewer) => {
    const mine = serving.seenBy(viewer);
    return 'idle' in mine ? null : views.of(mine, viewer);
  };
  const changesOf = (before: Viewer, after: Viewer) => changesBetween(seen(before), seen(after));
  return () => {
    const registry = serving.held();
    if (registry === null) return;
    const { server } = registry;
    const holds = (admitted: Admission) =>
      isCandidateOwner(admitted.owner) ? candidates.holds(admitted.owner) : auth.holds(admitted, server);
    const isGone = (admitted: Admission) => admitted.owner !== LOCAL.owner && !holds(admitted);
    // A session continues with any sign-in of the client that opened it; a stream ends with the sign-in that opened it.
    sessions.endOf((owner) => isGone({ owner }));
    samples.forget(isGone);
    streams.endOf(isGone);
    streams.review(
      (admitted) => (isCandidateOwner(admitted.owner) ? null : auth.rights(admitted, server)),
      changesOf,
      () => sessions.all(),
    );
  };
}

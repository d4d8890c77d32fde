import { createSignal } from 'solid-js';
import { usePoll, useQuery } from '#ui/src/components/use-query.ts';
import { keepSamples, type Sample } from './metrics-queue.ts';

const SAMPLE_MS = 2_000;

/** The queue of every connection now, and its last two minutes. */
export function useQueues() {
  const [samples, setSamples] = createSignal<ReadonlyMap<string, readonly Sample[]>>(new Map());
  const queues = useQuery(async (read) => (await read('queue.metrics', {})).connections);
  usePoll(async () => void setSamples((before) => keepSamples(before, queues.data() ?? {})), SAMPLE_MS);
  return { queues, samples };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { streamProgress } from '#mcp-host/dispatch/progress-response.ts';
import type { HostFetch } from '#mcp-host/transports/http.ts';
import { createListener, type Listener } from '#mcp-host/transports/listener.ts';

/** Closes connections that say nothing for a second, and answers later than that. */
export const slowListener = (): Listener => createListener({ fetch: slowly, endStreams: () => undefined, idle_seconds: 1 });

const encoder = new TextEncoder();
const slowly: HostFetch = async (request, peer) => {
  if (request.headers.has('x-told')) {
    peer.hold();
    return streamProgress({ progress_token: 1, log_level: null }, 'tool', async () => {
      await sleep(2_000);
      peer.release();
      return '{}';
    });
  }
  if (request.method === 'GET') {
    peer.hold();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(encoder.encode(':\n\n'));
        await sleep(6_000);
        controller.enqueue(encoder.encode('data: late\n\n'));
        controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }
  await request.text();
  if (request.headers.has('x-slow')) {
    peer.hold();
    // Each of two, as the calls of a batch.
    peer.hold();
    peer.release();
    await sleep(6_000);
    peer.release();
  }
  return new Response('done');
};

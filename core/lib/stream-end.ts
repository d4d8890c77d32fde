/** The same answer; `ended` is called when the whole of its body was handed on, and not when its reader leaves before. */
export function withEnd(response: Response, ended: () => void): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      ended();
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

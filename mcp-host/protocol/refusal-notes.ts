/** Sentences of answers that refuse a request, and of errors that were seen where the request was answered: for the list of refusals. */
const sentences = new WeakMap<Response, string>();
const seen = new WeakSet<object>();

/** The answer again, with what it says. @param cause the error that it stands for. */
export function noteRefusal(response: Response, sentence: string, cause?: unknown): Response {
  if (response.status >= 400 && !(typeof cause === 'object' && cause !== null && seen.has(cause)))
    sentences.set(response, sentence);
  return response;
}

/** It is on the list already: its answer is no further refusal. */
export const noteSeen = (error: object): void => void seen.add(error);

/** Undefined: the answer is no refusal, or one that was noted. */
export const refusalIn = (response: Response): string | undefined => sentences.get(response);

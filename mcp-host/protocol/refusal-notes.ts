/** The sentences of responses that refuse a request. `seen`: errors that are already on the list of refusals. */
const sentences = new WeakMap<Response, string>();
const seen = new WeakSet<object>();

/** Notes the sentence of a refusing response, and returns the response. @param cause the error that it reports. */
export function noteRefusal(response: Response, sentence: string, cause?: unknown): Response {
  if (response.status >= 400 && !(typeof cause === 'object' && cause !== null && seen.has(cause)))
    sentences.set(response, sentence);
  return response;
}

/** Marks an error that is already on the list, so that its response is not counted again. */
export const noteSeen = (error: object): void => void seen.add(error);

/** The sentence of a response; undefined: it is not a refusal, or it is already on the list. */
export const refusalIn = (response: Response): string | undefined => sentences.get(response);

/** The path that a URL such as `file:/srv/my%20data/sluice.sqlite` names, or null when it names no file. */
export function pathOfFileUrl(url: string): string | null {
  if (!url.startsWith('file:')) return null;
  const path = url.slice('file:'.length).replace(/^\/\/\//, '/');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** @param path of which every character counts, also `%`, `#` and `?`. */
export const fileUrlOf = (path: string): string => `file:${path.replaceAll('%', '%25')}`;

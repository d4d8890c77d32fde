import { join } from 'node:path';
import { API } from 'typescript/unstable/async';
import { ROOT } from '#test/runner/layers.ts';
import type { Texts } from './change.ts';

export interface Types {
  /** Whether the checks of types find nothing in these files and in `others`: what they refuse no test has to notice. */
  agreeWith(texts: Texts, others?: readonly string[]): Promise<boolean>;
  close(): Promise<void>;
}

/** Takes seconds; most answers take a fraction of one. */
export async function openTypes(): Promise<Types> {
  const config = join(ROOT, 'tsconfig.json');
  const changed = new Map<string, string>();
  const api = new API({ cwd: ROOT, fs: { readFile: (path) => changed.get(path) } });
  let snapshot = await api.updateSnapshot({ openProjects: [config] });
  /** One file at a time: TypeScript keeps the rest of the program only then. */
  const update = async (path: string, text?: string) => {
    if (text === undefined) changed.delete(path);
    else changed.set(path, text);
    const before = snapshot;
    snapshot = await api.updateSnapshot({ fileChanges: { changed: [path] } });
    await before.dispose();
  };
  const isClean = async (path: string) => {
    const program = snapshot.getProject(config)?.program;
    if (program === undefined) throw new Error('TypeScript did not open tsconfig.json.');
    if ((await program.getSyntacticDiagnostics(path)).length > 0) return false;
    return (await program.getSemanticDiagnostics(path)).length === 0;
  };
  return {
    async agreeWith(texts, others = []) {
      for (const [path, text] of texts) await update(join(ROOT, path), text);
      let clean = true;
      for (const path of [...texts.keys(), ...others]) clean &&= await isClean(join(ROOT, path));
      for (const path of texts.keys()) await update(join(ROOT, path));
      return clean;
    },
    close: () => api.close(),
  };
}

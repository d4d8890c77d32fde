import { expect, test } from 'bun:test';
import { createDraftStore } from '#ui/src/kernel/form/draft-store.ts';
import { createToasts } from '#ui/src/kernel/toasts.ts';

function memory(first?: string) {
  let kept = first;
  return { read: () => kept, write: (_key: string, value: string | undefined) => void (kept = value) };
}
const draft = (name: string) => ({ fields: { name }, version: 3 });

test('a draft is kept by its place until it is saved or discarded', () => {
  const storage = memory();
  const drafts = createDraftStore(storage);
  drafts.keep('ada /tools/1?', draft('one'));
  drafts.keep('ada /tools/new?', { fields: { sql_query: 'select 1' }, version: null });
  expect(createDraftStore(storage).read('ada /tools/1?')).toEqual(draft('one'));
  expect(drafts.read('eve /tools/1?')).toBeUndefined();
  drafts.keep('ada /tools/1?', undefined);
  expect(drafts.read('ada /tools/1?')).toBeUndefined();
  drafts.keep('ada /tools/new?', undefined);
  expect(storage.read()).toBeUndefined();
});

test('of more than twenty drafts the oldest goes, and what is no list of drafts counts as none', () => {
  const drafts = createDraftStore(memory());
  for (let number = 0; number < 21; number += 1) drafts.keep(`place ${number}`, draft(String(number)));
  expect(drafts.read('place 0')).toBeUndefined();
  expect([drafts.read('place 1'), drafts.read('place 20')]).toEqual([draft('1'), draft('20')]);
  for (const text of ['{', '[]', '{"a":{"fields":1}}']) expect(createDraftStore(memory(text)).read('a')).toBeUndefined();
});

test('deletions one after the other are one message, whose Undo takes all of them back', () => {
  const toasts = createToasts({ set: () => 0, clear: () => undefined });
  const undone: string[] = [];
  const text = (count: number) => `${count} deleted.`;
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
    toasts.show(text(1), 'good', {
      tally: { kind: 'tools deleted', count: 1, text },
      action: { label: 'Undo', run: () => void undone.push(name) },
    });
  toasts.show('Saved.', 'good');
  expect(toasts.list().map((toast) => toast.text)).toEqual(['6 deleted.', 'Saved.']);
  toasts.list()[0]?.action?.run();
  expect(undone).toEqual(['f', 'e', 'd', 'c', 'b', 'a']);
});

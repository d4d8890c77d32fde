import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The colours are CSS variables of the interface, which reach into the shadow root, so the editor follows the theme. */
export const look = EditorView.theme({
  '&': {
    height: '100%',
    color: 'var(--ink)',
    backgroundColor: 'transparent',
    fontSize: 'var(--text-sm)',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.6',
    fontVariantLigatures: 'none',
    minHeight: 'inherit',
    overflow: 'auto',
  },
  '.cm-content': { padding: 'var(--s2) 0', caretColor: 'var(--accent)', minHeight: '100%' },
  '.cm-line': { padding: '0 var(--s3) 0 var(--s2)' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in oklab, var(--accent) 24%, transparent) !important',
  },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'var(--ink-faint)' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 var(--s1) 0 var(--s2)', minWidth: '2rem' },
  '.cm-placeholder': { color: 'var(--ink-faint)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--hover)', outline: '1px solid var(--line-strong)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-soft)' },
  '.cm-parameter, .cm-parameter *': {
    color: 'var(--warning)',
    fontWeight: '600',
  },
  '.cm-parameter': { backgroundColor: 'var(--warning-soft)', borderRadius: '3px', padding: '1px 0' },
  '.cm-block': { backgroundColor: 'var(--accent-soft)', borderRadius: '3px', padding: '1px 0' },
  '.cm-block-mark, .cm-block-mark *': { color: 'var(--accent)', fontWeight: '700' },
  '.cm-fault': { textDecoration: 'underline wavy var(--bad)', textDecorationSkipInk: 'none', textUnderlineOffset: '3px' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--raised)',
    boxShadow: 'var(--shadow-high)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '16rem', maxWidth: 'min(90vw, 32rem)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px var(--s2)', lineHeight: '1.5' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '0.85', marginLeft: 'var(--s3)' },
  '.cm-tooltip.cm-completionInfo': { padding: 'var(--s2)', fontSize: 'var(--text-xs)', maxWidth: '20rem' },
});

export const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--accent)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string), tags.character], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--warning)' },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--ink-faint)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--ink-soft)' },
  { tag: [tags.function(tags.variableName), tags.labelName], color: 'var(--accent)' },
  { tag: [tags.variableName, tags.propertyName], color: 'var(--ink)' },
  { tag: [tags.brace, tags.processingInstruction], color: 'var(--warning)', fontWeight: '600' },
  { tag: [tags.operator, tags.punctuation, tags.bracket], color: 'var(--ink-soft)' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);

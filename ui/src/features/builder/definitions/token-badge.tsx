import { Badge } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

/** What the entry of a definition adds to every conversation. */
export function TokenBadge(props: { tokens: number; list: 'tools' | 'resources' | 'prompts' }) {
  return (
    <Badge title={`What its entry in the list of ${props.list} costs a model, estimated from what is saved.`}>
      {plural(props.tokens, 'token')}
    </Badge>
  );
}

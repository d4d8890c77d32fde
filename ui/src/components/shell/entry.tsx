import type { JSX } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Mark, Wave } from './brand.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { THEME_ICON, THEME_WORD } from './shell.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';

/** The frame of the pages before signing in. */
export function Entry(props: { title: string; lead: JSX.Element; children: JSX.Element }) {
  const { theme, commands, session } = useKernel();
  return (
    <div class="entry">
      <div class="entry-side">
        <div class="brand">
          <Mark />
          Sluice
        </div>
        <div class="entry-words">
          <p class="lead">Your SQL, opened to agents on your terms.</p>
          <p>
            Write a statement, describe it, deploy. Every MCP client gets a typed tool; your database enforces what it may read or
            change.
          </p>
        </div>
        <div class="entry-water" aria-hidden="true">
          <div class="wave-layer">
            <Wave />
          </div>
          <div class="wave-layer">
            <Wave />
          </div>
        </div>
      </div>
      <main class="entry-main">
        <div class="entry-form">
          <header>
            <h1>
              <Sentence>{props.title}</Sentence>
            </h1>
            <p class="soft">
              <Sentence>{props.lead}</Sentence>
            </p>
          </header>
          {props.children}
          <div class="entry-foot">
            <span class="num">Sluice {session.version()}</span>
            <Button kind="quiet" size="small" label={`Theme: ${THEME_WORD[theme.theme()]}`} onPress={() => commands.run('theme')}>
              <Icon name={THEME_ICON[theme.theme()]} size={14} />
              {THEME_WORD[theme.theme()]}
            </Button>
          </div>
        </div>
      </main>
    </div>
  );
}

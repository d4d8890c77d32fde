import type { JSX } from 'solid-js';
import { AboutPanel } from './about-panel.tsx';
import { BuilderFrame } from './builder-frame.tsx';
import { MasksPanel, PlanPane, SchemaPane } from './lazy-views.tsx';
import { ParametersPanel } from './parameters/parameters-panel.tsx';
import { PreviewPane } from './preview-pane.tsx';
import type { StatementDraft } from './statement-draft.ts';
import { StatementPanel } from './statement-panel.tsx';
import { TemplatePanel } from './template-panel.tsx';

/** One tool or resource, from its statement to the result for a model. */
export function StatementBuilder(props: {
  draft: StatementDraft;
  /** Content above the statement. */
  first?: JSX.Element;
  /** Controls above the editor, such as a source for the statement. */
  before?: JSX.Element;
  /** Fields of the result. */
  result?: JSX.Element;
  /** Panels at the end. */
  children?: JSX.Element;
}) {
  return (
    <BuilderFrame
      draft={props.draft}
      preview={() => <PreviewPane draft={props.draft} />}
      schema={() => <SchemaPane draft={props.draft} />}
      plan={() => <PlanPane statement={props.draft.statement} />}
    >
      {props.first}
      <StatementPanel draft={props.draft} before={props.before} />
      <ParametersPanel draft={props.draft} />
      <TemplatePanel draft={props.draft}>{props.result}</TemplatePanel>
      <MasksPanel draft={props.draft} />
      <AboutPanel draft={props.draft} />
      {props.children}
    </BuilderFrame>
  );
}

import * as KobaltePopover from '@kobalte/core/popover';
import * as KobalteTooltip from '@kobalte/core/tooltip';
import type { JSX } from 'solid-js';
import type { ButtonKind } from './button.tsx';

/** A small surface beside its button. */
export function Popover(props: {
  label: string;
  trigger: JSX.Element;
  kind?: ButtonKind;
  size?: 'small';
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
  children: JSX.Element;
}) {
  return (
    <KobaltePopover.Root
      gutter={6}
      {...(props.open === undefined ? {} : { open: props.open })}
      onOpenChange={(open) => props.onOpenChange?.(open)}
    >
      <KobaltePopover.Trigger class="button" data-kind={props.kind} data-size={props.size}>
        {props.trigger}
      </KobaltePopover.Trigger>
      <KobaltePopover.Portal>
        <KobaltePopover.Content class="floating popover" aria-label={props.label}>
          {props.children}
        </KobaltePopover.Content>
      </KobaltePopover.Portal>
    </KobaltePopover.Root>
  );
}

/** Words that appear on hover and focus; never the only place where something is said. */
export function Tooltip(props: { text: JSX.Element; children: JSX.Element }) {
  return (
    <KobalteTooltip.Root gutter={6} openDelay={400}>
      <KobalteTooltip.Trigger as="span" class="tooltip-anchor" tabindex={0}>
        {props.children}
      </KobalteTooltip.Trigger>
      <KobalteTooltip.Portal>
        <KobalteTooltip.Content class="tooltip">{props.text}</KobalteTooltip.Content>
      </KobalteTooltip.Portal>
    </KobalteTooltip.Root>
  );
}

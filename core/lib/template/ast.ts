/** Format of a parsed template. It is plain JSON, so that it can be stored, hashed and frozen. Lines are counted from 1. */
export const TEMPLATE_FORMAT = 'sluice-template/1';

export interface TemplateAst {
  readonly format: typeof TEMPLATE_FORMAT;
  readonly body: readonly Statement[];
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**' | '~';
export type CompareOperator = '==' | '!=' | '<' | '>' | '<=' | '>=';

export type Expression =
  | { readonly type: 'literal'; readonly value: string | number | boolean | null }
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'get'; readonly target: Expression; readonly key: Expression }
  | {
      readonly type: 'slice';
      readonly target: Expression;
      readonly bounds: readonly (Expression | null)[];
      readonly line: number;
    }
  | { readonly type: 'list'; readonly items: readonly Expression[] }
  | { readonly type: 'dict'; readonly entries: readonly (readonly [Expression, Expression])[]; readonly line: number }
  | {
      /** Evaluated from left to right: one chain has operators of the same precedence. */
      readonly type: 'chain';
      readonly first: Expression;
      readonly rest: readonly { readonly op: ArithmeticOperator; readonly value: Expression }[];
      readonly line: number;
    }
  | {
      readonly type: 'compare';
      readonly first: Expression;
      readonly rest: readonly { readonly op: CompareOperator; readonly value: Expression }[];
      readonly line: number;
    }
  | { readonly type: 'and' | 'or'; readonly items: readonly Expression[] }
  | { readonly type: 'not'; readonly value: Expression }
  | { readonly type: 'sign'; readonly negative: boolean; readonly value: Expression; readonly line: number }
  | { readonly type: 'in'; readonly item: Expression; readonly list: Expression; readonly line: number }
  | { readonly type: 'choice'; readonly test: Expression; readonly yes: Expression; readonly no: Expression | null }
  | {
      /** A filter, a test or a method. `args` are in the order of its signature, null where an argument is missing. */
      readonly type: 'filter' | 'test' | 'method';
      readonly name: string;
      readonly value: Expression;
      readonly args: readonly (Expression | null)[];
      readonly line: number;
    }
  | {
      readonly type: 'call';
      readonly name: string;
      readonly args: readonly Expression[];
      readonly named: readonly (readonly [string, Expression])[];
      readonly line: number;
    }
  | { readonly type: 'capture'; readonly body: readonly Statement[] };

export type Target = { readonly name: string } | { readonly namespace: string; readonly key: string };

export type Statement =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'output'; readonly value: Expression; readonly line: number }
  | { readonly type: 'set'; readonly targets: readonly Target[]; readonly value: Expression; readonly line: number }
  | {
      readonly type: 'if';
      readonly branches: readonly { readonly test: Expression; readonly body: readonly Statement[] }[];
      readonly otherwise: readonly Statement[];
    }
  | {
      readonly type: 'for';
      readonly names: readonly string[];
      readonly list: Expression;
      readonly where: Expression | null;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
      readonly line: number;
    };

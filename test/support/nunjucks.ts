interface Compiled {
  render(variables: object): string;
}

interface Environment {
  renderString(text: string, variables: object): string;
}

/** nunjucks as it is meant to be used, to be compared with: its compiler makes code, so it only ever gets templates of ours. */
export const nunjucks = require('nunjucks') as {
  readonly Environment: new (loader: null, options: { autoescape: boolean }) => Environment;
  compile(text: string, environment: Environment): Compiled;
  precompileString(text: string, options: { name: string }): string;
};

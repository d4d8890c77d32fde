export const UNSAVED = 'Changes to this toolset are not saved.';
export const SAVED = 'Toolset saved. Clients see it after the next deploy.';

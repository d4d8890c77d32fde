import type { App } from '#core/app.ts';
import { issuerFrom } from '#core/definitions/settings/issuer.ts';
import { readSettings } from '#core/definitions/settings/settings.ts';

/** The authorization server's identifier as things stand now. */
export const issuerOf = async (app: App): Promise<string> => issuerFrom(app.env, (await readSettings(app)).settings);

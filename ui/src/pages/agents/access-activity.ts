/** Letters of an ISO 3166-1 code as regional indicators, which browsers draw as a flag where they can. */
export const flagOf = (country: string): string =>
  /^[A-Z]{2}$/.test(country) ? String.fromCodePoint(...[0, 1].map((index) => 0x1f1e6 + country.charCodeAt(index) - 65)) : '';

/** The country's name in English; the code if it is unknown. */
export function countryName(country: string): string {
  try {
    return new Intl.DisplayNames(['en'], { type: 'region' }).of(country) ?? country;
  } catch {
    return country;
  }
}

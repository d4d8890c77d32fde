/** Letters of an ISO 3166-1 code as regional indicators, which browsers draw as a flag where they can. */
export const flagOf = (country: string): string =>
  /^[A-Z]{2}$/.test(country) ? String.fromCodePoint(...[0, 1].map((place) => 0x1f1e6 + country.charCodeAt(place) - 65)) : '';

/** The country's name in English; the code itself when nobody knows it. */
export function countryName(country: string): string {
  try {
    return new Intl.DisplayNames(['en'], { type: 'region' }).of(country) ?? country;
  } catch {
    return country;
  }
}

/** `in 3 hours`, `ended`: how long a credential still lives. */
export function left(iso: string, now: number): string {
  const minutes = Math.floor((Date.parse(iso) - now) / 60_000);
  if (minutes < 0) return 'ended';
  if (minutes < 60) return `in ${Math.max(1, minutes)} min`;
  if (minutes < 48 * 60) return `in ${Math.round(minutes / 60)} h`;
  return `in ${Math.round(minutes / 1_440)} days`;
}

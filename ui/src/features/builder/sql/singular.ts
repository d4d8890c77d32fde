/** Plurals that no ending gives away, by their singular. */
const IRREGULAR: ReadonlyMap<string, string> = new Map(
  `person people, child children, man men, woman women, mouse mice, goose geese, foot feet, tooth teeth, ox oxen, index indices, vertex vertices,
   matrix matrices, appendix appendices, criterion criteria, phenomenon phenomena, analysis analyses, crisis crises, diagnosis diagnoses,
   hypothesis hypotheses, thesis theses, parenthesis parentheses, synopsis synopses, axis axes, oasis oases, quiz quizzes, alias aliases,
   atlas atlases, bias biases, canvas canvases, gas gases, lens lenses, iris irises, cache caches, niche niches, ache aches, avalanche avalanches,
   shoe shoes, toe toes, canoe canoes, foe foes, movie movies, cookie cookies, calorie calories, zombie zombies, rookie rookies, hoodie hoodies,
   selfie selfies, brownie brownies, smoothie smoothies, birdie birdies, prairie prairies, leaf leaves, shelf shelves, half halves,
   wolf wolves, calf calves, thief thieves, loaf loaves, scarf scarves, knife knives, wife wives, life lives, elf elves, self selves,
   menu menus, guru gurus, cpu cpus, gpu gpus, sku skus, api apis, taxi taxis, wiki wikis, emoji emojis, poi pois, kpi kpis, ski skis,
   id ids, ip ips, pc pcs, url urls, kiwi kiwis, use uses, excuse excuses, fuse fuses`
    .split(',')
    .map((pair) => pair.trim().split(/\s+/) as [string, string])
    .map(([one, many]) => [many, one]),
);

/** Words that end in s and are no plural. */
const SINGULAR: ReadonlySet<string> = new Set(
  `series species news alias atlas bias canvas gas lens chaos christmas has was plus https kudos logistics analytics statistics
   physics mathematics economics politics athletics electronics graphics always perhaps sometimes kubernetes aws dns gps sms rss css tls`.split(
    /\s+/,
  ),
);

/** One of what the last word names in the plural: `order items` is an `order item`. Anything that is no plural stays as it is. */
export function singular(words: string): string {
  const start = words.lastIndexOf(' ') + 1;
  return words.slice(0, start) + one(words.slice(start));
}

function one(word: string): string {
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  if (SINGULAR.has(word) || word.length < 4 || !word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return word.length < 5 ? word.slice(0, -1) : `${word.slice(0, -3)}y`;
  // `houses` and `causes` keep their e, `statuses` and `bonuses` do not.
  if (/(?:sses|[^aeo]uses|xes|ches|shes|zzes|tzes|[^aeiou]oes)$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

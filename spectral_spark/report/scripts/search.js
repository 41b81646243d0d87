// From a word to its topics.

const MATCHES = 20;
const folded = model.words.map((word) => word.toLocaleLowerCase());

function matchingWords(text) {
  const wanted = text.trim().toLocaleLowerCase();
  if (!wanted) return [];
  const found = { exact: [], start: [], inside: [] };
  folded.forEach((word, i) => {
    const at = word.indexOf(wanted);
    if (at < 0) return;
    (word === wanted ? found.exact : at === 0 ? found.start : found.inside).push(i);
  });
  const byShare = (a, b) => model.wordShares[b] - model.wordShares[a] || a - b;
  return [...found.exact.sort(byShare), ...found.start.sort(byShare), ...found.inside.sort(byShare)].slice(0, MATCHES);
}

function wordChips(words) {
  const chip = (word) =>
    h(
      "li",
      {},
      button(bdi(model.words[word]), () => searchWord(word)),
    );
  return h("ul", { class: "chips" }, words.map(chip));
}

function wordCard(word, others) {
  const found = model.topicsOfWord(word);
  const most = Math.max(...found.map((item) => item.share), 0);
  const uses = (share) => (share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`);
  return [
    h("h3", {}, "“", bdi(model.words[word]), "”"),
    h("p", { class: "hint" }, `${percent(model.wordShares[word])} of all words in the corpus, used in these topics:`),
    table(
      { class: "bars", id: "word-topics" },
      ["Topic", ["Share of the word's uses", WITH_BAR]],
      found.map(({ topic, share }) => row(topicButton(topic), barCell(share, most), number(uses(share), share))),
    ),
    ...(others.length ? [h("p", { class: "hint part" }, "Similar spellings"), wordChips(others)] : []),
  ];
}

function unknownWord(text) {
  const rest = `”. It knows ${plural(model.words.length, "word")}; rare and very common ones were left out.`;
  return h("p", {}, "The model does not know “", bdi(text), rest);
}

function showSearch() {
  const text = byId("word-search").value.trim();
  const result = byId("word-result");
  const found = matchingWords(text);
  const word = found.length && folded[found[0]] === text.toLocaleLowerCase() ? found[0] : null;
  options(
    byId("word-suggestions"),
    found.map((match) => model.words[match]),
  );
  result.hidden = !text;
  if (word !== state.word) set({ word });
  if (!text) return;
  if (word !== null) {
    result.replaceChildren(...wordCard(word, found.slice(1, 9)));
    const [first] = model.topicsOfWord(word);
    if (first) announce(`${model.words[word]}: mostly in topic ${first.topic}, ${model.topicName(first.topic)}`);
  } else if (found.length) {
    result.replaceChildren(h("p", {}, "Words with these letters:"), wordChips(found));
    announce(`${plural(found.length, "word")} with these letters`);
  } else {
    result.replaceChildren(unknownWord(text));
    announce("No such word");
  }
}

function searchWord(word) {
  byId("word-search").value = model.words[word];
  showSearch();
  byId("word-search").scrollIntoView({ block: "nearest" });
}

function startSearch() {
  byId("word-search").addEventListener("input", showSearch);
}

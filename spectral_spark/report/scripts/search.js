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
  return h("ul", { class: "chips" }, words.map((word) => h("li", {},
    h("button", { type: "button", onclick: () => searchWord(word) }, bdi(model.words[word])))));
}

function wordCard(word, others) {
  const found = model.topicsOfWord(word), most = Math.max(...found.map((item) => item.share), 0);
  return [
    h("h3", {}, "“", bdi(model.words[word]), "”"),
    h("p", { class: "hint" }, `${percent(model.wordShares[word])} of all words in the corpus. When it is used, it is in these topics:`),
    h("table", { class: "bars", id: "word-topics" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), h("th", { scope: "col", colspan: 2 }, "Share of the word's uses"))),
      h("tbody", {}, found.map(({ topic, share }) => h("tr", {},
        h("th", { scope: "row" }, topicButton(topic)),
        h("td", { class: "bar-cell" }, bar(share, most)),
        h("td", { class: "number" }, share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`))))),
    others.length ? h("p", { class: "hint part" }, "Similar spellings") : "", others.length ? wordChips(others) : "",
  ];
}

function showSearch() {
  const text = byId("word-search").value, result = byId("word-result"), found = matchingWords(text);
  byId("word-suggestions").replaceChildren(...found.map((word) => { const o = h("option", {}); o.value = model.words[word]; return o; }));
  result.hidden = !text.trim();
  const word = found.length && folded[found[0]] === text.trim().toLocaleLowerCase() ? found[0] : null;
  if (word !== state.word) set({ word });
  if (result.hidden) return;
  if (word !== null) {
    result.replaceChildren(...wordCard(word, found.slice(1, 9)));
    const first = model.topicsOfWord(word)[0];
    if (first) announce(`${model.words[word]}: mostly in topic ${first.topic}, ${model.topicName(first.topic)}`);
  } else if (found.length) {
    result.replaceChildren(h("p", {}, "Words with these letters:"), wordChips(found));
    announce(plural(found.length, "word") + " with these letters");
  } else {
    result.replaceChildren(h("p", {}, "The model does not know “", bdi(text.trim()), `”. It knows ${plural(model.words.length, "word")}; rare and very common ones were left out when the corpus was read.`));
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

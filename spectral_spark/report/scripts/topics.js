// The list of topics and the one that is open.

const WORDS_SHOWN = 20,
  WORDS_MORE = 60;
let wordsShown = WORDS_SHOWN;

function topicOrder(kind) {
  if (kind === "coherent") {
    const coherence = (topic) => model.topics.coherence[topic] ?? -2;
    return [...model.largestFirst].sort((a, b) => coherence(b) - coherence(a));
  }
  if (kind === "number") return [...model.topics.weights.keys()];
  if (kind === "share") return model.largestFirst;
  const nearest = (topic) => model.topics.similar[topic][0]?.[1] ?? 1;
  return [...model.largestFirst].sort((a, b) => nearest(b) - nearest(a));
}

function drawTopicList() {
  const most = Math.max(...model.topics.weights);
  const items = topicOrder(byId("topic-order").value).map((topic) => {
    const weight = model.topics.weights[topic];
    const button = h(
      "button",
      { type: "button", "data-topic": topic, tabindex: "-1", onclick: () => openTopic(topic) },
      h("span", { class: "count", style: { "--group": groupColour(topic) } }, h("span", { class: "unseen" }, "Topic "), String(topic)),
      h("span", { class: "name" }, listed(model.topics.labels[topic])),
      h("span", { class: "share", title: trustOf(topic) }, percent(weight), h("span", { class: "unseen" }, `. ${trustOf(topic)}`), trustMark(topic)),
      h("span", { class: "more" }),
      bar(weight, most),
    );
    return h("li", {}, button);
  });
  byId("topic-list").replaceChildren(...items);
  byId("topic-list-title").textContent = model.k === 1 ? "The only topic" : `All ${model.k} topics`;
  fillTopicWords();
  markTopic();
}

function trustOf(topic) {
  const stability = model.topics.stability?.[topic];
  return Number.isFinite(stability) ? `Comes back from another seed with probability ${percent(stability)}` : "";
}

function trustMark(topic) {
  const stability = model.topics.stability?.[topic];
  if (!Number.isFinite(stability)) return "";
  return h("span", { "aria-hidden": "true" }, stability >= 0.75 ? " ●" : stability >= 0.4 ? " ◐" : " ○");
}

function fillTopicWords() {
  for (const button of byId("topic-list").querySelectorAll("button")) {
    const topic = Number(button.dataset.topic);
    const named = new Set(model.topics.labels[topic]);
    const others = model
      .relevant(topic, state.lambda, 12)
      .map((item) => model.words[item.word])
      .filter((word) => !named.has(word));
    button.querySelector(".more").replaceChildren(...listed(others.slice(0, 7)));
  }
}

function markTopic() {
  for (const button of byId("topic-list").querySelectorAll("button")) {
    const here = Number(button.dataset.topic) === state.topic;
    button.setAttribute("aria-current", String(here));
    button.tabIndex = here ? 0 : -1;
    if (here) {
      const list = byId("topic-list"),
        top = button.offsetTop;
      if (top < list.scrollTop || top + button.offsetHeight > list.scrollTop + list.clientHeight)
        list.scrollTop = top - 40;
    }
  }
}

function topicListKeys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) return;
  const buttons = [...byId("topic-list").querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  buttons[Math.min(Math.max(at + step, 0), buttons.length - 1)].focus();
  event.preventDefault();
}

function wordTable(topic) {
  const found = model.relevant(topic, state.lambda, wordsShown);
  const most = Math.max(...found.map((item) => item.share), 0);
  return table(
    { class: "bars", id: "topic-words" },
    ["Word", ["Share of the topic", WITH_BAR], ["Of its uses, here", NUMBER]],
    found.map(({ word, share, here }) =>
      row(
        link(bdi(model.words[word]), () => searchWord(word)),
        barCell(share, most),
        number(percent(share), share),
        number(percent(here), here),
      ),
    ),
  );
}

function similarPart(topic) {
  const similar = model.topics.similar[topic];
  if (!similar.length) return null;
  const rows = similar.map(([other, distance]) => row(topicButton(other), number(`distance ${distance.toFixed(2)}`, distance)));
  return h("div", { class: "part" }, h("h4", {}, "Most similar topics"), table({}, [], rows));
}

// Groups of a handful of documents would win by chance; they only count when there are no others.
let homeLevel = null;
function homes(topic) {
  const all = groupsOfLevel(homeLevel);
  const least = Math.max(20, model.nodes.documents[0] / 1000);
  const sound = all.filter((node) => model.nodes.samples[node] >= 20 && model.nodes.documents[node] >= least);
  return (sound.length >= 3 ? sound : all)
    .map((node) => ({ node, share: model.share(node, topic) }))
    .sort((a, b) => b.share - a.share || a.node - b.node)
    .slice(0, 8);
}

function homeLevelField() {
  const choices = levelChoices();
  if (choices.length < 2) return null;
  const choose = (event) => {
    homeLevel = Number(event.target.value);
    drawTopic();
    byId("home-level").focus();
  };
  const option = ([level, size]) =>
    h("option", { value: level, selected: level === homeLevel }, `level ${level}: ${plural(size, "group")}`);
  const label = h("label", { for: "home-level", class: "unseen" }, "Level of the groups");
  return h("span", {}, label, h("select", { id: "home-level", onchange: choose }, choices.map(option)));
}

function homesPart(topic) {
  homeLevel ??= usualLevel();
  const found = homes(topic);
  if (!found.length || model.size < 2) return null;
  const whole = model.share(0, topic);
  const most = Math.max(...found.map(({ node, share }) => intervalOf(node, topic)?.[1] ?? share), whole);
  const line = ({ node, share }) =>
    row(
      nodeButton(node),
      barCell(share, most, whole, intervalOf(node, topic)),
      shareCell(share, intervalOf(node, topic)),
      wideNumber(count(model.nodes.documents[node]), model.nodes.documents[node]),
    );
  return h(
    "div",
    { class: "part" },
    h("div", { class: "toolbar" }, h("h4", {}, "Where it is at home"), homeLevelField()),
    table(
      { class: "bars" },
      ["Group", ["Share of its documents", WITH_BAR], ["Documents", WIDE_NUMBER]],
      found.map(line),
    ),
    h("p", { class: "hint" }, `${intervalHint()}The mark is its average share over all documents, ${percent(whole)}.`),
  );
}

function qualityPart(topic) {
  const coherence = model.topics.coherence[topic];
  const [nearest, distance] = model.topics.similar[topic][0] ?? [];
  const facts = [
    ["Share of all words", percent(model.topics.weights[topic])],
    ["Average share of a document", percent(model.share(0, topic))],
  ];
  const stability = model.topics.stability?.[topic];
  if (Number.isFinite(stability)) facts.push(["Comes back from another seed", percent(stability)]);
  if (Number.isFinite(coherence)) facts.push(["Coherence (NPMI)", coherence.toFixed(2)]);
  if (nearest !== undefined) facts.push(["Distance to the nearest topic", distance.toFixed(2)]);
  if (model.k > 1) facts.push(["Of its top 10 words, in other top tens", String(model.topics.sharedWords[topic])]);
  return stats(facts);
}

function moreWords() {
  wordsShown = WORDS_MORE;
  drawTopic();
}

function drawTopic() {
  const topic = state.topic;
  const available = model.topics.offsets[topic + 1] - model.topics.offsets[topic];
  const name = model.topics.labels[topic].flatMap((word, i) => (i ? [" · ", bdi(word)] : [bdi(word)]));
  byId("topic-detail").replaceChildren(
    h(
      "div",
      { class: "detail-head" },
      h("div", {}, h("p", { class: "eyebrow" }, `Topic ${topic}`), h("h3", { id: "topic-detail-title" }, name)),
    ),
    qualityPart(topic),
    wordTable(topic),
    wordsShown < Math.min(WORDS_MORE, available) ? button("More words", moreWords, { class: "screen-only" }) : "",
    h("div", { class: "columns" }, similarPart(topic), homesPart(topic)),
    exemplarsPart(0, topic, "Documents that show it best") ?? "",
  );
}

function startTopics() {
  const slider = byId("relevance");
  const tell = () => {
    byId("relevance-value").textContent = state.lambda.toFixed(2);
    slider.setAttribute("aria-valuetext", `${state.lambda.toFixed(2)}, from 0, only here, to 1, most frequent`);
  };
  slider.addEventListener("input", () => set({ lambda: Number(slider.value) }));
  byId("topic-order").addEventListener("change", drawTopicList);
  byId("topic-list").addEventListener("keydown", topicListKeys);
  on(["lambda"], () => {
    tell();
    fillTopicWords();
    drawTopic();
    const first = model.relevant(state.topic, state.lambda, 5).map((item) => model.words[item.word]);
    announce(`Now first: ${first.join(", ")}`);
  });
  on(["topic"], () => {
    wordsShown = WORDS_SHOWN;
    markTopic();
    drawTopic();
  });
  slider.value = String(state.lambda);
  tell();
  drawTopicList();
  drawTopic();
}

// A link to what is on the screen, and all numbers behind the page as files.

const VIEW = "#view?";

function currentView() {
  const view = new URLSearchParams({ topic: state.topic, node: state.node, lambda: state.lambda, order: byId("topic-order").value });
  if (byId("compare-a")) view.set("compare", `${pair.a},${pair.b}`);
  if (byId("heat")) view.set("level", heat.level);
  if (byId("column-chart")) {
    view.set("column", columnsView.column);
    view.set("lines", shownTopics().join(","));
  }
  if (byId("word-search").value.trim()) view.set("word", byId("word-search").value.trim());
  const section = [...document.querySelectorAll("main section")].findLast((part) => part.getBoundingClientRect().top < innerHeight / 2);
  view.set("at", section?.id ?? "overview");
  return VIEW + view;
}

const below = (text, limit) => {
  const value = Number(text);
  return text !== null && text !== "" && Number.isInteger(value) && value >= 0 && value < limit ? value : undefined;
};
const numbersBelow = (text, limit) => (text ?? "").split(",").map((part) => below(part, limit)).filter((value) => value !== undefined);

function restorePair(text) {
  const [a, b] = numbersBelow(text, model.size);
  if (!byId("compare-a") || b === undefined) return;
  Object.assign(pair, { a, b });
  showPair();
}

function restoreColumns(view) {
  if (!byId("column-chart")) return;
  columnsView.column = below(view.get("column"), answers.columns.length) ?? 0;
  const lines = numbersBelow(view.get("lines"), model.k).slice(0, MOST_LINES);
  columnsView.topics = lines.length ? lines : null;
  if (byId("column-choice")) byId("column-choice").value = String(columnsView.column);
  drawColumns();
}

// Addresses come from anywhere: what is not a number of this page is passed over.
function restoreView(hash) {
  const view = new URLSearchParams(hash.slice(VIEW.length));
  const lambda = Number(view.get("lambda") ?? NaN);
  const order = view.get("order");
  if ([...byId("topic-order").options].some((option) => option.value === order)) {
    byId("topic-order").value = order;
    drawTopicList();
  }
  if (lambda >= 0 && lambda <= 1) byId("relevance").value = String(lambda);
  set({
    topic: below(view.get("topic"), model.k) ?? state.topic,
    node: below(view.get("node"), model.size) ?? state.node,
    lambda: lambda >= 0 && lambda <= 1 ? lambda : state.lambda,
  });
  const level = below(view.get("level"), 1000);
  if (byId("heat") && levelChoices().some(([known]) => known === level)) {
    heat.level = level;
    byId("heat-level").value = String(level);
    drawHeat();
  }
  restorePair(view.get("compare"));
  restoreColumns(view);
  if (view.get("word")) {
    byId("word-search").value = view.get("word");
    showSearch();
  }
  const part = [...document.querySelectorAll("main section")].find((section) => section.id === view.get("at"));
  part?.scrollIntoView();
}

async function copyView() {
  const hash = currentView();
  history.replaceState(null, "", hash);
  try {
    await navigator.clipboard.writeText(location.href);
    announce("Link to this view copied");
    byId("copy-view").textContent = "Link copied";
  } catch {
    announce("The address of this page is now a link to this view");
    byId("copy-view").textContent = "Link is in the address bar";
  }
}

const everyTopic = () => [...Array(model.k).keys()];

function topicRows() {
  const head = ["topic", "label", "share_of_words", "coherence", "stability"];
  const line = (t) => [t, model.topicName(t), model.topics.weights[t], model.topics.coherence[t], model.topics.stability?.[t]];
  return [head, ...everyTopic().map(line)];
}

function wordRows() {
  const lines = everyTopic().flatMap((topic) =>
    model.relevant(topic, 1, Infinity).map(({ word, share, here }) => [topic, model.words[word], share, here]),
  );
  return [["topic", "word", "share_of_topic", "share_of_the_word's_uses"], ...lines];
}

function groupRows() {
  const lines = d3.range(model.size).flatMap((node) =>
    everyTopic().map((topic) => {
      const [low, high] = intervalOf(node, topic) ?? [];
      return [model.nodeLabel(node), levelOf(node), model.nodes.documents[node], topic, model.share(node, topic), low, high];
    }),
  );
  return [["group", "level", "documents", "topic", "share_of_documents", "lower", "upper"], ...lines];
}

function exemplarRows() {
  const lines = Object.entries(data.answers.exemplars).flatMap(([key, found]) => {
    const [node, topic] = key.split(":").map(Number);
    return found.map(([id, share], at) => [model.nodeLabel(node), topic, at + 1, id, share]);
  });
  return [["group", "topic", "rank", "document", "share"], ...lines];
}

function columnRows(column) {
  const lines = column.values.flatMap((value, at) =>
    everyTopic().map((topic) => [value, column.documents[at], topic, column.share[at][topic], column.lower[at][topic], column.upper[at][topic], column.trend?.[topic], column.change?.[topic]]),
  );
  return [[column.by.join(" "), "documents", "topic", "share", "lower", "upper", "trend_q", "change_q"], ...lines];
}

function familyRows() {
  const line = (node, at) => [at, node.level, node.parent, node.label, node.share, node.topics.join(" "), node.words.join(" ")];
  return [["family", "level", "parent", "label", "share_of_words", "topics", "words"], ...data.taxonomy.nodes.map(line)];
}

function startView() {
  byId("copy-view").addEventListener("click", copyView);
  const files = [
    ["topics", topicRows],
    ["words", wordRows],
    ["groups", groupRows],
    ...(answers && Object.keys(data.answers.exemplars).length ? [["exemplars", exemplarRows]] : []),
    ...(answers?.columns ?? []).map((column) => [`by-${column.by.join("-")}`, () => columnRows(column)]),
    ...(data.taxonomy ? [["families", familyRows]] : []),
  ];
  const item = ([name, rows]) => h("li", {}, button(`${name}.csv`, () => saveCsv(name.replace(/[^\w-]+/g, "_"), rows())));
  byId("files").replaceChildren(...files.map(item));
  for (const element of document.querySelectorAll("main table")) if (!element.tFoot) element.append(exportRow(element));
}

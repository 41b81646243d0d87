// Groups side by side: the same few topics in each, on one scale.

const MULTIPLES = 12;
const MULTIPLE_TOPICS = 6;

function multiple(child, topics, most, parent) {
  const line = (topic) => {
    const share = model.share(child, topic);
    const interval = intervalOf(child, topic);
    const text = interval ? `${percent(share)} (${rangeText(interval)})` : percent(share);
    return h(
      "li",
      { title: `${model.topicName(topic)}: ${text}` },
      h("span", { class: "mini-name" }, bdi(shortened(model.topics.labels[topic].slice(0, 2).join(" · "), 26))),
      bar(share, most, model.share(parent, topic), interval),
      h("span", { class: "unseen" }, text),
    );
  };
  return h(
    "li",
    { class: "multiple" },
    h("h5", {}, link(bdi(model.nodeName(child)), () => openNode(child))),
    h("p", { class: "hint" }, plural(model.nodes.documents[child], "document")),
    h("ul", {}, topics.map(line)),
  );
}

// The topics of the node itself and those in which its groups differ most.
function tellingTopics(node, children) {
  const spread = (topic) => d3.deviation(children, (child) => model.share(child, topic)) ?? 0;
  const main = topTopics(node, MULTIPLE_TOPICS / 2).map(({ topic }) => topic);
  const rest = [...Array(model.k).keys()].filter((topic) => !main.includes(topic));
  return [...main, ...rest.sort((a, b) => spread(b) - spread(a) || a - b)].slice(0, MULTIPLE_TOPICS);
}

function multiplesPart(node) {
  const children = [...model.children[node]]
    .sort((a, b) => model.nodes.documents[b] - model.nodes.documents[a] || a - b)
    .slice(0, MULTIPLES);
  if (children.length < 2) return null;
  const topics = tellingTopics(node, children);
  const most = Math.max(...children.flatMap((child) => topics.map((topic) => intervalOf(child, topic)?.[1] ?? model.share(child, topic))), ...topics.map((topic) => model.share(node, topic)));
  const shown = children.length < model.children[node].length ? `The ${children.length} largest groups. ` : "";
  return h(
    "div",
    { class: "part" },
    h("h4", {}, "Groups side by side"),
    h("p", { class: "hint" }, `${shown}Marks are the shares in `, bdi(inText(node)), `. ${intervalHint()}`),
    h("ul", { class: "multiples" }, children.map((child) => multiple(child, topics, most, node))),
  );
}

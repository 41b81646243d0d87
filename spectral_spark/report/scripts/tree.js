// The document tree: one node open at a time, its children a click away.

const CHILDREN_SHOWN = 25;
const CHILDREN_MORE = 100;
const TOPICS_SHOWN = 10;
const MOVES_SHOWN = 5;
let childrenShown = CHILDREN_SHOWN;
let childOrder = "documents";

const inText = (node) => (model.nodes.parents[node] < 0 ? "the whole corpus" : model.nodeName(node));

function topTopics(node, most) {
  const mix = model.mix(node);
  return [...mix.keys()]
    .sort((a, b) => mix[b] - mix[a] || a - b)
    .slice(0, most)
    .map((topic) => ({ topic, share: mix[topic] }));
}

function crumbs(node) {
  const step = (at) => {
    const name = bdi(model.nodeName(at));
    return h("li", {}, at === node ? h("span", { "aria-current": "page" }, name) : link(name, () => openNode(at)));
  };
  return h("nav", { "aria-label": "Path in the tree" }, h("ol", { class: "crumbs" }, model.path(node).map(step)));
}

function nodeStats(node) {
  const [loss, plain] = model.nodes.evaluation[node] ?? [];
  const facts = [
    ["Documents", count(model.nodes.documents[node])],
    ["Effective sample size", count(model.nodes.samples[node])],
  ];
  if (model.children[node].length) facts.push(["Groups inside", count(model.children[node].length)]);
  if (model.nodes.parents[node] >= 0)
    facts.push(["Distance from its parent", model.distance(node, model.nodes.parents[node]).toFixed(2)]);
  if (Number.isFinite(loss)) facts.push(["Loss", fixed(loss, 3)]);
  if (Number.isFinite(plain)) facts.push(["Unigram loss", fixed(plain, 3)]);
  return stats(facts);
}

function mixPart(node) {
  const parent = model.nodes.parents[node];
  const found = topTopics(node, TOPICS_SHOWN);
  const marker = (topic) => (parent >= 0 ? model.share(parent, topic) : undefined);
  const most = Math.max(...found.flatMap(({ topic, share }) => [intervalOf(node, topic)?.[1] ?? share, marker(topic) ?? 0]));
  return h(
    "div",
    {},
    h("h4", {}, "What it talks about"),
    table(
      { class: "bars" },
      ["Topic", ["Share of its documents", WITH_BAR]],
      found.map(({ topic, share }) =>
        row(topicButton(topic), barCell(share, most, marker(topic), intervalOf(node, topic)), shareCell(share, intervalOf(node, topic))),
      ),
    ),
    parent >= 0 ? h("p", { class: "hint" }, `${intervalHint()}The mark is the share in `, bdi(inText(parent)), ".") : null,
  );
}

function moves(node, reference) {
  return [...Array(model.k).keys()]
    .map((topic) => ({ topic, here: model.share(node, topic), there: model.share(reference, topic) }))
    .map((item) => ({ ...item, move: item.here - item.there }));
}

function apartPart(node) {
  const parent = model.nodes.parents[node];
  if (parent < 0) return null;
  const all = moves(node, parent).sort((a, b) => b.move - a.move);
  const chosen = [
    ...all.slice(0, MOVES_SHOWN).filter((item) => item.move > 0),
    ...all.slice(-MOVES_SHOWN).filter((item) => item.move < 0),
  ].filter((item, i, list) => list.indexOf(item) === i);
  const most = Math.max(...chosen.map((item) => Math.abs(item.move)), 1e-9);
  const bars = (move) =>
    h(
      "span",
      { class: "way", "aria-hidden": "true" },
      h("span", move < 0 ? { class: "down", style: { width: `${(-move / most) * 100}%` } } : {}),
      h("span", move > 0 ? { class: "up", style: { width: `${(move / most) * 100}%` } } : {}),
    );
  return h(
    "div",
    {},
    h("h4", {}, "What sets it apart from ", bdi(inText(parent))),
    h(
      "ul",
      { class: "moves" },
      chosen.map(({ topic, here, there, move }) =>
        h(
          "li",
          {},
          topicButton(topic),
          bars(move),
          h("small", {}, `${points(move)} points: ${percent(here)} here, ${percent(there)} there`),
        ),
      ),
    ),
  );
}

function childOrders(far) {
  return {
    documents: (a, b) => model.nodes.documents[b] - model.nodes.documents[a],
    different: (a, b) => far.get(b) - far.get(a),
    name: (a, b) => model.nodeName(a).localeCompare(model.nodeName(b)),
  };
}

function mainTopics(node) {
  const part = ({ topic, share }) => [...listed(model.topics.labels[topic].slice(0, narrow() ? 2 : 3)), ` ${percent(share)}`];
  return topTopics(node, narrow() ? 1 : 3).flatMap((item, i) => [i ? "; " : "", ...part(item)]);
}

function childTable(node) {
  const far = new Map(model.children[node].map((child) => [child, model.distance(child, node)]));
  const order = childOrders(far)[childOrder];
  const shown = [...model.children[node]].sort((a, b) => order(a, b) || a - b).slice(0, childrenShown);
  return table(
    { id: "children" },
    ["Group", ["Documents", NUMBER], ["Effective sample size", WIDE_NUMBER], "Main topics", ["Distance", WIDE_NUMBER]],
    shown.map((child) =>
      row(
        link(bdi(model.nodeName(child)), () => openNode(child)),
        number(count(model.nodes.documents[child]), model.nodes.documents[child]),
        wideNumber(count(model.nodes.samples[child]), model.nodes.samples[child]),
        h("td", {}, mainTopics(child)),
        wideNumber(far.get(child).toFixed(2), far.get(child)),
      ),
    ),
  );
}

function orderField() {
  const names = { documents: "most documents first", different: "most unlike first", name: "by name" };
  const choose = (event) => {
    childOrder = event.target.value;
    drawNode();
    byId("child-order").focus();
  };
  const choices = Object.entries(names).map(([value, text]) =>
    h("option", { value, selected: value === childOrder }, text),
  );
  const label = h("label", { for: "child-order", class: "unseen" }, "Order of groups");
  return h("span", {}, label, h("select", { id: "child-order", onchange: choose }, choices));
}

function moreChildren() {
  childrenShown += CHILDREN_MORE;
  drawNode();
}

function childrenPart(node) {
  const total = model.children[node].length;
  if (!total) return null;
  const more = `Show ${Math.min(CHILDREN_MORE, total - childrenShown)} more of ${count(total)}`;
  return h(
    "div",
    { class: "part" },
    h("div", { class: "toolbar" }, h("h4", {}, `${plural(total, "group")} inside`), orderField()),
    scrolled(childTable(node)),
    total > childrenShown ? button(more, moreChildren, { class: "screen-only", id: "more-children" }) : null,
  );
}

// The documents that show the group's own main topics best.
function nodeExemplars(node) {
  if (!answers || model.nodes.parents[node] < 0) return null;
  const parts = topTopics(node, MOVES_SHOWN).map(({ topic }) => exemplarsPart(node, topic, model.topicName(topic)));
  const found = parts.filter(Boolean);
  return found.length ? fold("Documents that show its main topics", "print-open part", h("div", { class: "columns" }, found)) : null;
}

function drawNode() {
  const node = state.node;
  const comparable = byId("compare-a") && model.nodes.parents[node] >= 0;
  const compare = button("Compare with another group", () => compareFrom(node), { class: "screen-only" });
  const title = h("h3", { id: "node-title", dir: "auto" }, model.nodeName(node));
  const parts = [
    crumbs(node),
    h("div", { class: "detail-head" }, title, comparable ? compare : null),
    nodeStats(node),
    h("div", { class: "columns part" }, mixPart(node), apartPart(node)),
    multiplesPart(node),
    childrenPart(node),
    nodeExemplars(node),
  ];
  byId("node").replaceChildren(...parts.filter(Boolean));
}

function startTree() {
  on(["node"], () => {
    childrenShown = CHILDREN_SHOWN;
    drawNode();
  });
  const field = byId("node-search");
  const go = (node) => {
    field.value = "";
    openNode(node);
  };
  if (field) nodeField(field, byId("node-suggestions"), go);
  drawNode();
}

// The document tree: one node open at a time, its children a click away.

const CHILDREN_SHOWN = 25, TOPICS_SHOWN = 10, MOVES_SHOWN = 5;
let childrenShown = CHILDREN_SHOWN, childOrder = "documents";

const nodeButton = (node) =>
  h("button", { type: "button", class: "link", onclick: () => openNode(node) }, bdi(model.path(node).slice(1).map((at) => shortened(model.nodeName(at), 40)).join(" › ") || model.nodeName(node)));

function topTopics(node, most) {
  const mix = model.mix(node);
  return [...mix.keys()].sort((a, b) => mix[b] - mix[a] || a - b).slice(0, most).map((topic) => ({ topic, share: mix[topic] }));
}

function crumbs(node) {
  return h("nav", { "aria-label": "Path in the tree" }, h("ol", { class: "crumbs" }, model.path(node).map((at) => h("li", {},
    at === node ? h("span", { "aria-current": "page" }, bdi(model.nodeName(at)))
      : h("button", { type: "button", class: "link", onclick: () => openNode(at) }, bdi(model.nodeName(at)))))));
}

function nodeStats(node) {
  const [loss, plain] = model.nodes.evaluation[node] ?? [];
  const facts = [["Documents", count(model.nodes.documents[node])], ["Effective sample size", count(model.nodes.samples[node])]];
  if (model.children[node].length) facts.push(["Groups inside", count(model.children[node].length)]);
  if (model.nodes.parents[node] >= 0) facts.push(["Distance from its parent", model.distance(node, model.nodes.parents[node]).toFixed(2)]);
  if (Number.isFinite(loss)) facts.push(["Loss", fixed(loss, 3)]);
  if (Number.isFinite(plain)) facts.push(["Unigram loss", fixed(plain, 3)]);
  return h("dl", { class: "stats" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function mixPart(node) {
  const parent = model.nodes.parents[node], found = topTopics(node, TOPICS_SHOWN);
  const marker = (topic) => (parent >= 0 ? model.share(parent, topic) : undefined);
  const most = Math.max(...found.flatMap(({ topic, share }) => [share, marker(topic) ?? 0]));
  return h("div", {}, h("h4", {}, "What it talks about"),
    h("table", { class: "bars" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), h("th", { scope: "col", colspan: 2 }, "Share of the group"))),
      h("tbody", {}, found.map(({ topic, share }) => h("tr", {},
        h("th", { scope: "row" }, topicButton(topic)),
        h("td", { class: "bar-cell" }, bar(share, most, marker(topic))),
        h("td", { class: "number" }, percent(share)))))),
    parent >= 0 ? h("p", { class: "hint" }, "The mark is the share in ", bdi(model.nodeName(parent)), ".") : null);
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
  const chosen = [...all.slice(0, MOVES_SHOWN).filter((item) => item.move > 0), ...all.slice(-MOVES_SHOWN).filter((item) => item.move < 0)]
    .filter((item, i, list) => list.indexOf(item) === i);
  const most = Math.max(...chosen.map((item) => Math.abs(item.move)), 1e-9);
  const bars = (move) => h("span", { class: "way", "aria-hidden": "true" },
    h("span", move < 0 ? { class: "down", style: { width: `${-move / most * 100}%` } } : {}),
    h("span", move > 0 ? { class: "up", style: { width: `${move / most * 100}%` } } : {}));
  return h("div", {}, h("h4", {}, "What sets it apart from ", bdi(model.nodeName(parent))),
    h("ul", { class: "moves" }, chosen.map(({ topic, here, there, move }) => h("li", {},
      topicButton(topic), bars(move),
      h("small", {}, `${points(move)} points: ${percent(here)} here, ${percent(there)} there`)))));
}

function childTable(node) {
  const children = [...model.children[node]];
  const far = new Map(children.map((child) => [child, model.distance(child, node)]));
  const orders = {
    documents: (a, b) => model.nodes.documents[b] - model.nodes.documents[a],
    different: (a, b) => far.get(b) - far.get(a),
    name: (a, b) => model.nodeName(a).localeCompare(model.nodeName(b)),
  };
  children.sort((a, b) => orders[childOrder](a, b) || a - b);
  const shown = children.slice(0, childrenShown);
  const row = (child) => h("tr", {},
    h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => openNode(child) }, bdi(model.nodeName(child)))),
    h("td", { class: "number" }, count(model.nodes.documents[child])),
    h("td", { class: "number wide-only" }, count(model.nodes.samples[child])),
    h("td", {}, topTopics(child, narrow() ? 1 : 3).map(({ topic, share }, i) => [i ? "; " : "", listed(model.topics.labels[topic].slice(0, 2)), ` ${percent(share)}`])
      .flat(2)),
    h("td", { class: "number wide-only" }, far.get(child).toFixed(2)));
  return h("table", { id: "children" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Group"), h("th", { scope: "col", class: "number" }, "Documents"),
      h("th", { scope: "col", class: "number wide-only" }, "Effective sample size"), h("th", { scope: "col" }, "Main topics"),
      h("th", { scope: "col", class: "number wide-only" }, "Distance"))),
    h("tbody", {}, shown.map(row)));
}

function childrenPart(node) {
  const total = model.children[node].length;
  if (!total) return null;
  const options = [["documents", "most documents first"], ["different", "most unlike first"], ["name", "by name"]];
  const order = h("select", { id: "child-order", onchange: (event) => { childOrder = event.target.value; drawNode(); byId("child-order").focus(); } },
    options.map(([value, text]) => h("option", { value, selected: value === childOrder }, text)));
  const more = total > childrenShown
    ? h("button", { type: "button", class: "screen-only", id: "more-children", onclick: () => { childrenShown += 100; drawNode(); } },
      `Show ${Math.min(100, total - childrenShown)} more of ${count(total)}`) : null;
  return h("div", { class: "part" },
    h("div", { class: "toolbar" }, h("h4", {}, plural(total, "group") + " inside"),
      h("span", {}, h("label", { for: "child-order", class: "unseen" }, "Order of groups"), order)),
    h("div", { class: "scroll" }, childTable(node)), more);
}

function drawNode() {
  const node = state.node;
  const compare = byId("compare-a") && model.nodes.parents[node] >= 0
    ? h("button", { type: "button", class: "screen-only", onclick: () => compareFrom(node) }, "Compare with another group") : null;
  byId("node").replaceChildren(...[crumbs(node),
    h("div", { class: "detail-head" }, h("h3", { id: "node-title", dir: "auto" }, model.nodeName(node)), compare),
    nodeStats(node),
    h("div", { class: "columns part" }, mixPart(node), apartPart(node)),
    childrenPart(node)].filter(Boolean));
}

function nodeLabels() {
  const labels = new Map();
  for (let node = 0; node < model.size; node++) {
    const label = model.nodeLabel(node);
    labels.set(labels.has(label) ? `${label} (number ${node})` : label, node);
  }
  return labels;
}

// A field that proposes nodes by part of their path and calls back with the node once the text names one.
function nodeField(input, suggestions, labels, chosen) {
  const lower = [...labels.keys()].map((label) => [label.toLocaleLowerCase(), label]);
  const suggest = () => {
    const wanted = input.value.trim().toLocaleLowerCase();
    const found = [];
    for (const [text, label] of lower) {
      if (text.includes(wanted)) found.push(label);
      if (found.length >= 50) break;
    }
    suggestions.replaceChildren(...found.map((label) => { const o = h("option", {}); o.value = label; return o; }));
    return found;
  };
  input.addEventListener("focus", suggest);
  input.addEventListener("input", () => { suggest(); if (labels.has(input.value)) chosen(labels.get(input.value)); });
  input.addEventListener("change", () => {
    const found = suggest();
    if (!labels.has(input.value) && found.length === 1) chosen(labels.get(found[0]));
    else if (!labels.has(input.value) && input.value.trim()) announce(found.length ? "Several groups match; go on typing" : "No such group");
  });
}

function startTree() {
  on(["node"], () => { childrenShown = CHILDREN_SHOWN; drawNode(); });
  const field = byId("node-search");
  if (field) nodeField(field, byId("node-suggestions"), nodeLabels(), (node) => { field.value = ""; openNode(node); });
  drawNode();
}

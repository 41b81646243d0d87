// Families of topics: the taxonomy, from its coarsest level down to the topics.

function familyLine(node, most) {
  return h(
    "span",
    { class: "family" },
    h("strong", {}, bdi(node.label)),
    " ",
    h("small", { class: "hint" }, `${percent(node.share)} of the words, ${plural(node.topics.length, "topic")}`),
    bar(node.share, most),
    h("small", { class: "family-words hint" }, listed(node.words.slice(0, 8))),
  );
}

function familyPart(at, most) {
  const { nodes } = data.taxonomy;
  const below = [...nodes.keys()].filter((other) => nodes[other].parent === at);
  const inside = below.length
    ? below.map((child) => familyPart(child, most))
    : nodes[at].topics.map((topic) => h("li", {}, topicButton(topic), " ", h("small", { class: "hint" }, percent(model.topics.weights[topic]))));
  const open = nodes[at].level === 0 && nodes.length < 40;
  return h("li", {}, h("details", { class: "print-open", open }, h("summary", {}, familyLine(nodes[at], most)), h("ul", { class: "families" }, inside)));
}

function startTaxonomy() {
  if (!byId("taxonomy-body")) return;
  const { nodes } = data.taxonomy;
  const most = Math.max(...nodes.map((node) => node.share));
  const top = [...nodes.keys()].filter((at) => nodes[at].parent === null);
  byId("taxonomy-body").replaceChildren(h("ul", { class: "families" }, top.map((at) => familyPart(at, most))));
}

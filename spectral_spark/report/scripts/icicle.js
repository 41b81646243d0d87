// The whole tree as a picture: a group is as wide as it has documents, and stands below the group that it is part of.

const ICICLE_ROW = 34;
const ICICLE_LEVELS = 6;
const NARROWEST = 1.5; // pixels: what is narrower cannot be seen or hit

function icicleNodes(width) {
  const deepest = Math.min(ICICLE_LEVELS, Math.max(...levelChoices().map(([level]) => level)));
  const found = [];
  const place = (node, left, right, level) => {
    if (right - left < NARROWEST || level > deepest) return;
    found.push({ node, left, right, level });
    const children = [...model.children[node]].sort(
      (a, b) => model.nodes.documents[b] - model.nodes.documents[a] || a - b,
    );
    const unit = (right - left) / Math.max(model.nodes.documents[node], d3.sum(children, (c) => model.nodes.documents[c]), 1);
    let at = left;
    for (const child of children) {
      const next = at + unit * model.nodes.documents[child];
      place(child, at, next, level + 1);
      at = next;
    }
  };
  place(0, 0, width, 0);
  return { found, height: (deepest + 1) * ICICLE_ROW };
}

function icicleTitle(node) {
  const [main] = topTopics(node, 1);
  return `${model.nodeLabel(node)}\n${plural(model.nodes.documents[node], "document")}\nmost of: ${model.topicName(main.topic)}, ${percent(main.share)}`;
}

function drawIcicle() {
  const holder = byId("icicle");
  const width = Math.max(holder.clientWidth || 600, 240);
  const { found, height } = icicleNodes(width);
  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("viewBox", [0, 0, width, height]);
  svg.attr("role", "img").attr("aria-label", "The document tree; the table of groups below holds the same");
  const cells = svg.selectAll("g").data(found).join("g").attr("class", "hot");
  cells.attr("transform", ({ left, level }) => `translate(${left},${level * ICICLE_ROW})`);
  cells.on("click", (_, { node }) => openNode(node));
  cells
    .append("rect")
    .attr("width", ({ left, right }) => Math.max(right - left - 1, 0.5))
    .attr("height", ICICLE_ROW - 2)
    .attr("rx", 3)
    .style("fill", ({ node }) => groupColour(topTopics(node, 1)[0].topic))
    .style("fill-opacity", ({ node }) => 0.18 + 0.6 * Math.min(topTopics(node, 1)[0].share * 2, 1))
    .style("stroke", ({ node }) => (node === state.node ? colour("ink") : "none"))
    .style("stroke-width", 2);
  cells
    .filter(({ left, right }) => right - left > 34)
    .append("text")
    .attr("x", 6)
    .attr("y", ICICLE_ROW / 2 + 3)
    .style("fill", colour("ink"))
    .style("font-size", "12px")
    .text(({ node, left, right }) => shortened(model.nodeName(node), Math.max(Math.floor((right - left - 8) / 7), 2)));
  cells.append("title").text(({ node }) => icicleTitle(node));
  holder.replaceChildren(svg.node());
}

function startIcicle() {
  if (!byId("icicle")) return;
  on(["node"], drawIcicle);
  atEveryWidth("icicle", drawIcicle);
}

// Start, and follow the address: #topic-3 and #node-12 select, #view?… restores a whole view, others are anchors.

function follow(first) {
  if (location.hash.startsWith(VIEW)) return restoreView(location.hash);
  const [, kind, text] = /^#(topic|node)-(\d+)$/.exec(location.hash) ?? [];
  const number = Number(text);
  if (kind === "topic" && number < model.k) {
    set({ topic: number });
    if (narrow() || first) byId("topic-detail").scrollIntoView();
    else byId("topics").querySelector(".topic-panes").scrollIntoView({ block: "nearest" });
    announce(`Topic ${number}: ${model.topicName(number)}, ${percent(model.topics.weights[number])} of the words`);
  } else if (kind === "node" && number < model.size) {
    set({ node: number });
    byId("node").scrollIntoView({ block: first ? "start" : "nearest" });
    if (!first) byId("node").focus({ preventScroll: true });
    announce(`${model.nodeLabel(number)}: ${plural(model.nodes.documents[number], "document")}`);
  } else if (first) {
    // what was drawn meanwhile has moved the place that the browser went to
    document.getElementById(location.hash.slice(1))?.scrollIntoView({ behavior: "instant" });
  }
}

// Paper has no folds.
function unfold() {
  for (const part of document.querySelectorAll("details.print-open:not([open])")) {
    part.dataset.closed = "1";
    part.open = true;
  }
  drawHood();
}

function foldAgain() {
  for (const part of document.querySelectorAll("details[data-closed]")) {
    delete part.dataset.closed;
    part.open = false;
  }
}

for (const part of document.querySelectorAll(".live")) part.hidden = false;
startTopics();
startMap();
startSearch();
startTree();
startIcicle();
startHeat();
startCompare();
startColumns();
startTaxonomy();
startChanges();
startHood();
startView();
window.addEventListener("beforeprint", unfold);
window.addEventListener("afterprint", foldAgain);
window.addEventListener("hashchange", () => follow(false));
if (location.hash) follow(true);
document.documentElement.dataset.ready = String(Math.round(performance.now()));

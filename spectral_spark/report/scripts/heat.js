// Topics by groups: a table whose cells are tinted by the share of the topic in the group.

const HEAT_TOPICS = 30;
const HEAT_GROUPS = 16;
const heat = { level: 1, all: false };
const levelOf = (node) => model.path(node).length - 1;

// Groups of one level, the largest first; a level is what is that far below the whole corpus.
const groupsOfLevel = (level) =>
  [...Array(model.size).keys()]
    .filter((node) => levelOf(node) === level)
    .sort((a, b) => model.nodes.documents[b] - model.nodes.documents[a] || a - b);

function levelChoices() {
  const sizes = new Map();
  for (let node = 0; node < model.size; node++) {
    const level = levelOf(node);
    if (level > 0) sizes.set(level, (sizes.get(level) ?? 0) + 1);
  }
  return [...sizes].sort((a, b) => a[0] - b[0]);
}

// Where a topic is at home: by default the lowest level whose groups are large enough to say something.
function telling(level) {
  const sizes = groupsOfLevel(level).map((node) => model.nodes.documents[node]);
  return d3.median(sizes) >= Math.max(30, model.nodes.documents[0] / 500);
}
function usualLevel() {
  const levels = levelChoices().map(([level]) => level);
  return levels.filter(telling).at(-1) ?? levels[0] ?? 0;
}

function heatCell(node, topic, most) {
  const share = model.share(node, topic);
  const strength = most > 0 ? Math.sqrt(share / most) : 0;
  return h(
    "td",
    {
      class: `heat${strength > 0.72 ? " strong" : ""}`,
      style: { "--heat": `${(strength * 100).toFixed(1)}%` },
      "data-value": share,
      title: rangeText(intervalOf(node, topic)) || null,
    },
    share >= 0.005 ? `${Math.round(share * 100)}%` : "",
  );
}

function heatTable(groups, topics) {
  const most = Math.max(...groups.flatMap((node) => topics.map((topic) => model.share(node, topic))));
  const heading = (node) => [
    h("span", { class: "upright" }, link(bdi(shortened(model.shortLabel(node), 34)), () => openNode(node))),
    { class: "number", title: model.nodeLabel(node) },
  ];
  const line = (topic) => row(topicButton(topic), ...groups.map((node) => heatCell(node, topic, most)));
  return table({ class: "heatmap", id: "heat-table" }, ["Topic", ...groups.map(heading)], topics.map(line));
}

function drawHeat() {
  const groups = groupsOfLevel(heat.level);
  const shown = groups.slice(0, HEAT_GROUPS);
  const order = model.largestFirst;
  const topics = heat.all ? order : order.slice(0, HEAT_TOPICS);
  const left = order.length - topics.length;
  const note =
    groups.length > shown.length ? `The ${shown.length} largest of ${count(groups.length)} groups are shown. ` : "";
  const more = () => {
    heat.all = true;
    drawHeat();
  };
  byId("heat").replaceChildren(
    ...[
      scrolled(heatTable(shown, topics)),
      left ? button(`Show the other ${count(left)} topics`, more, { class: "screen-only" }) : null,
      h("p", { class: "hint" }, `${note}A cell is the average share of the topic in the group's documents.`),
    ].filter(Boolean),
  );
}

function startHeat() {
  if (!byId("heat")) return;
  heat.level = usualLevel();
  const choose = byId("heat-level");
  choose.replaceChildren(
    ...levelChoices().map(([level, size]) =>
      h("option", { value: level, selected: level === heat.level }, `level ${level}: ${plural(size, "group")}`),
    ),
  );
  choose.addEventListener("change", () => {
    heat.level = Number(choose.value);
    drawHeat();
  });
  drawHeat();
}

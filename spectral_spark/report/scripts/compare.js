// Two nodes side by side.

const COMPARED_TOPICS = 15;
const pair = { a: 0, b: 0 };

function comparedTopics() {
  return moves(pair.a, pair.b)
    .map(({ topic, here, there, move }) => ({ topic, a: here, b: there, move }))
    .sort((x, y) => Math.abs(y.move) - Math.abs(x.move) || x.topic - y.topic)
    .slice(0, COMPARED_TOPICS);
}

// Intervals as thin lines, a little above and below the line of their topic.
function intervalMarks(rows, side, dy) {
  const known = rows
    .map(({ topic }) => ({ topic, ends: intervalOf(pair[side], topic) }))
    .filter(({ ends }) => ends)
    .map(({ topic, ends: [low, high] }) => ({ topic, low, high }));
  return known.length ? [Plot.ruleY(known, { y: "topic", x1: "low", x2: "high", dy, stroke: colour(side), strokeWidth: 2, strokeOpacity: 0.75 })] : [];
}

function compareChart(rows) {
  const width = Math.max(byId("compare-result").clientWidth || 600, 240);
  const slim = width < 560;
  const name = (row) => shortened(`${row.topic} ${model.topicName(row.topic)}`, slim ? 22 : 38);
  const order = rows.map((row) => row.topic);
  return picture({
    width,
    marginLeft: slim ? 8 : 250,
    marginRight: 24,
    marginTop: 26,
    height: rows.length * (slim ? 38 : 27) + 50,
    ariaLabel: "Topic shares of the two groups, topics with the largest difference first",
    ariaDescription: "The table below holds the same numbers.",
    style: { fontSize: "12.5px", background: "transparent" },
    x: { grid: true, tickFormat: (value) => percent(value), ticks: slim ? 4 : 8, label: null, zero: true },
    y: { domain: order, axis: null, padding: 0.2 },
    marks: [
      ...intervalMarks(rows, "a", -5),
      ...intervalMarks(rows, "b", 5),
      Plot.ruleY(rows, { y: "topic", x1: "a", x2: "b", stroke: colour("quiet"), strokeWidth: 2, strokeOpacity: 0.55 }),
      Plot.dot(rows, { y: "topic", x: "a", fill: colour("a"), r: 6 }),
      Plot.dot(rows, { y: "topic", x: "b", fill: colour("b"), r: 6, symbol: "diamond" }),
      Plot.text(rows, {
        y: "topic",
        text: name,
        frameAnchor: "left",
        textAnchor: slim ? "start" : "end",
        dx: slim ? 0 : -10,
        dy: slim ? -14 : 0,
        fill: colour("ink"),
      }),
    ],
  });
}

function compareTable(rows) {
  const names = [pair.a, pair.b].map((node) => [bdi(model.nodeName(node)), NUMBER]);
  const cells = (item) =>
    row(
      topicButton(item.topic),
      shareCell(item.a, intervalOf(pair.a, item.topic)),
      shareCell(item.b, intervalOf(pair.b, item.topic)),
      number(points(item.move), item.move),
    );
  const content = table({ id: "compare-table" }, ["Topic", ...names, ["Points", NUMBER]], rows.map(cells));
  return fold("The same as a table", "print-open", scrolled(content));
}

function verdict(distance) {
  if (distance < 0.1) return "almost the same mix of topics";
  if (distance < 0.3) return "a similar mix of topics";
  if (distance < 0.6) return "clearly different mixes of topics";
  return "little in common";
}

function sidePart(node, key, leading) {
  const topics = leading.flatMap((item, i) => [i ? "; " : "", ...listed(model.topics.labels[item.topic])]);
  return h(
    "p",
    {},
    h("span", { class: `key key-${key}`, "aria-hidden": "true" }),
    " ",
    h("strong", {}, nodeButton(node)),
    ` (${plural(model.nodes.documents[node], "document")})`,
    topics.length ? [" says more about ", ...topics] : [],
    ".",
  );
}

function drawComparison() {
  const rows = comparedTopics();
  const distance = model.distance(pair.a, pair.b);
  const leading = (sign) => rows.filter((item) => item.move * sign > 0).slice(0, 3);
  byId("compare-result").replaceChildren(
    h("p", {}, h("strong", {}, `Distance ${distance.toFixed(2)}`), `: ${verdict(distance)}.`),
    sidePart(pair.a, "a", leading(1)),
    sidePart(pair.b, "b", leading(-1)),
    h("figure", { class: "chart" }, compareChart(rows)),
    compareTable(rows),
  );
  return `Distance ${distance.toFixed(2)}: ${verdict(distance)}`;
}

function showPair() {
  byId("compare-a").value = model.nodeLabel(pair.a);
  byId("compare-b").value = model.nodeLabel(pair.b);
  drawComparison();
}

function compareFrom(node) {
  pair.a = node;
  if (pair.b === node) pair.b = Math.max(model.nodes.parents[node], 0);
  showPair();
  byId("compare").scrollIntoView();
  byId("compare-b").focus({ preventScroll: true });
  byId("compare-b").select();
}

function startCompare() {
  if (!byId("compare-a")) return;
  let from = 0;
  while (model.children[from].length === 1) from = model.children[from][0];
  const largest = [...model.children[from]].sort(
    (a, b) => model.nodes.documents[b] - model.nodes.documents[a] || a - b,
  );
  pair.a = largest[0] ?? 1;
  pair.b = largest[1] ?? 0;
  for (const key of ["a", "b"]) {
    const input = byId(`compare-${key}`);
    nodeField(input, byId("compare-suggestions"), (node) => {
      pair[key] = node;
      announce(drawComparison());
    });
    input.addEventListener("focus", () => input.select());
    input.addEventListener("blur", () => {
      input.value = model.nodeLabel(pair[key]);
    });
  }
  byId("compare-swap").addEventListener("click", () => {
    [pair.a, pair.b] = [pair.b, pair.a];
    showPair();
  });
  atEveryWidth("compare-result", showPair);
}

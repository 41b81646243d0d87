// Topics over time, or over the values of any column, with intervals.

const LINES = 5;
const MOST_LINES = 8;
const MOST_TICKS = 12;
const columnsView = { column: 0, topics: null };
const currentColumn = () => answers.columns[columnsView.column];

// The topics that change most surely come first; where nothing was tested, those that range widest.
function changing(column) {
  const range = (topic) => d3.max(column.share, (line) => line[topic]) - d3.min(column.share, (line) => line[topic]);
  const doubt = (topic) => (column.change ? column.change[topic] : 0);
  return [...Array(model.k).keys()].sort((a, b) => (doubt(a) > 0.1) - (doubt(b) > 0.1) || range(b) - range(a) || a - b);
}

function shownTopics() {
  return columnsView.topics ?? changing(currentColumn()).slice(0, LINES);
}

function toggleTopic(topic) {
  const shown = shownTopics();
  const next = shown.includes(topic) ? shown.filter((other) => other !== topic) : [...shown, topic];
  if (next.length > MOST_LINES) return announce(`At most ${MOST_LINES} topics are shown; take one away first`);
  columnsView.topics = next;
  drawColumns();
  byId("column-topic").focus();
}

const lineColour = (place) => colour(`group-${place % 8}`);

function columnChart(column, topics) {
  const width = Math.max(byId("column-chart").clientWidth || 600, 240);
  const rows = topics.flatMap((topic, place) =>
    column.values.map((value, at) => ({
      at,
      topic,
      place,
      share: column.share[at][topic],
      lower: column.lower[at][topic],
      upper: column.upper[at][topic],
    })),
  );
  const step = Math.ceil(column.values.length / (width < 560 ? MOST_TICKS / 3 : MOST_TICKS));
  const ticks = d3.range(0, column.values.length, step);
  const stroke = ({ place }) => lineColour(place);
  const title = ({ at, topic, share, lower, upper }) =>
    `${column.values[at]}: ${model.topicName(topic)}\n${percent(share)} (${rangeText([lower, upper])})\n${plural(column.documents[at], "document")}`;
  return picture({
    width,
    height: 340,
    marginLeft: 48,
    marginRight: 20,
    marginBottom: 44,
    ariaLabel: `Shares of ${plural(topics.length, "topic")} by ${column.by.join(" and ")}`,
    ariaDescription: "The table below holds the same numbers.",
    style: { fontSize: "12.5px", background: "transparent" },
    x: { ticks, tickFormat: (at) => shortened(column.values[at] ?? "", 14), label: null, domain: [0, Math.max(column.values.length - 1, 1)] },
    y: { grid: true, zero: true, tickFormat: (value) => percent(value), label: null },
    marks: [
      Plot.areaY(rows, { x: "at", y1: "lower", y2: "upper", z: "topic", fill: stroke, fillOpacity: 0.16 }),
      Plot.lineY(rows, { x: "at", y: "share", z: "topic", stroke, strokeWidth: 2 }),
      Plot.dot(rows, { x: "at", y: "share", fill: stroke, r: column.values.length > 60 ? 1.5 : 3 }),
      Plot.tip(rows, Plot.pointer({ x: "at", y: "share", title, fill: colour("card"), stroke: colour("line"), fontSize: 13 })),
    ],
  });
}

function verdictOf(column, topic) {
  if (!column.change) return "";
  const tell = (q) => (q < 0.001 ? "<0.001" : q.toFixed(3));
  return `change q ${tell(column.change[topic])}, trend q ${tell(column.trend[topic])}`;
}

function columnKey(column, topics) {
  const item = (topic, place) =>
    h(
      "li",
      {},
      h("span", { class: "key", "aria-hidden": "true", style: { background: lineColour(place) } }),
      " ",
      topicButton(topic),
      " ",
      h("small", { class: "hint" }, verdictOf(column, topic)),
      " ",
      button("Remove", () => toggleTopic(topic), { class: "link screen-only", "aria-label": `Remove topic ${topic}` }),
    );
  return h("ul", { class: "line-key" }, topics.map(item));
}

function columnTable(column, topics) {
  const cells = (at) =>
    topics.map((topic) => shareCell(column.share[at][topic], [column.lower[at][topic], column.upper[at][topic]]));
  const heading = (topic) => [`${topic} ${shortened(model.topicName(topic), 30)}`, NUMBER];
  const rows = column.values.map((value, at) =>
    row(bdi(value), number(count(column.documents[at]), column.documents[at]), ...cells(at)),
  );
  const content = table({ id: "column-table" }, [column.by.join(", "), ["Documents", NUMBER], ...topics.map(heading)], rows);
  return fold("The same as a table", "print-open", scrolled(content));
}

function drawColumns() {
  const column = currentColumn();
  const topics = shownTopics();
  const note = column.leftOut ? ` ${plural(column.leftOut, "value")} with fewer documents left out.` : "";
  byId("column-chart").replaceChildren(columnChart(column, topics));
  byId("column-detail").replaceChildren(
    columnKey(column, topics),
    h("p", { class: "hint" }, `Bands are ${percent(answers.probability)} intervals. A q-value is the share of false alarms among topics with a q that small: change asks for any difference between values, trend for a rise or fall.${note}`),
    columnTable(column, topics),
  );
}

function startColumns() {
  if (!byId("column-chart")) return;
  const field = byId("column-topic");
  field.replaceChildren(
    h("option", { value: "" }, "choose a topic"),
    ...model.largestFirst.map((topic) => h("option", { value: topic }, `${topic} ${shortened(model.topicName(topic), 60)}`)),
  );
  field.addEventListener("change", () => {
    if (field.value !== "") toggleTopic(Number(field.value));
    field.value = "";
  });
  byId("column-choice")?.addEventListener("change", (event) => {
    columnsView.column = Number(event.target.value);
    columnsView.topics = null;
    drawColumns();
  });
  atEveryWidth("column-chart", drawColumns);
}

// The map of topics: one circle each, area by share, labels where there is room.

function mapLabels(width, height, x, y, radius) {
  const placed = [],
    labels = [];
  const boxes = model.largestFirst.map((t) => [x(t) - radius(t), y(t) - radius(t), x(t) + radius(t), y(t) + radius(t)]);
  for (const [rank, topic] of model.largestFirst.entries()) {
    const text = model.topics.labels[topic].slice(0, 2).join(" · ");
    const half = Math.min(text.length, 26) * 3.1 + 3;
    const at = Math.min(Math.max(x(topic), half), width - half);
    for (const side of [1, -1]) {
      const line = y(topic) + side * (radius(topic) + 9);
      const box = [at - half, line - 7, at + half, line + 7];
      const hits = (other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
      if (line < 8 || line > height - 8 || placed.some(hits) || boxes.some((other, i) => i !== rank && hits(other)))
        continue;
      placed.push(box);
      labels.push({ topic, text: text.length > 26 ? `${text.slice(0, 25)}…` : text, at, line });
      break;
    }
    if (labels.length >= 40) break;
  }
  return labels;
}

function drawMap() {
  const holder = byId("topic-map"),
    width = Math.max(holder.clientWidth || 500, 240),
    height = Math.round(Math.min(width * 0.8, 460));
  const margin = Math.min(46, width / 8),
    map = model.topics.map;
  const span = (axis) => d3.extent(map, (point) => point[axis]);
  const [[left, right], [low, high]] = [span(0), span(1)];
  const scale = Math.min(
    (width - 2 * margin) / Math.max(right - left, 1e-6),
    (height - 2 * margin) / Math.max(high - low, 1e-6),
  );
  const x = (t) => width / 2 + (map[t][0] - (left + right) / 2) * Math.min(scale, 1e5);
  const y = (t) => height / 2 - (map[t][1] - (low + high) / 2) * Math.min(scale, 1e5);
  const largest = Math.max(...model.topics.weights, 1e-9);
  const widest = Math.min(30, width / 14) * Math.min(1, Math.sqrt(70 / model.k));
  const radius = (t) => 3 + widest * Math.sqrt(model.topics.weights[t] / largest);
  const used =
    state.word === null ? null : new Map(model.topicsOfWord(state.word).map((item) => [item.topic, item.share]));
  const opacity = (t) => (used ? 0.06 + 0.9 * (used.get(t) ?? 0) : 0.38);
  const order = model.largestFirst;
  const svg = Plot.plot({
    width,
    height,
    margin: 0,
    axis: null,
    x: { domain: [0, width], range: [0, width] },
    y: { domain: [0, height], range: [0, height] },
    r: { type: "identity" },
    ariaLabel: `Map of ${plural(model.k, "topic")} by similarity`,
    ariaDescription:
      "The same topics are in the list of all topics, with the distances to the most similar ones in each topic.",
    marks: [
      Plot.dot(order, {
        x,
        y,
        r: radius,
        fill: colour("accent"),
        fillOpacity: opacity,
        stroke: colour("accent"),
        strokeWidth: 1,
        sort: null,
        className: "hot",
      }),
      Plot.dot([state.topic], {
        x,
        y,
        r: (t) => radius(t) + 3,
        stroke: colour("ink"),
        strokeWidth: 2.5,
        pointerEvents: "none",
      }),
      Plot.text(mapLabels(width, height, x, y, radius), {
        x: "at",
        y: "line",
        text: "text",
        fill: colour("ink"),
        fontSize: 11.5,
        stroke: colour("card"),
        strokeWidth: 4,
        pointerEvents: "none",
      }),
      Plot.tip(
        order,
        Plot.pointer({
          x,
          y,
          title: (t) => `${t}  ${model.topicName(t)}\n${percent(model.topics.weights[t])} of the corpus`,
          fill: colour("card"),
          stroke: colour("line"),
          fontSize: 13,
        }),
      ),
    ],
  });
  svg.setAttribute("role", "img");
  d3.select(svg)
    .selectAll("g.hot circle, g[aria-label=dot] circle")
    .on("click", (_, index) => openTopic(order[index]));
  holder.replaceChildren(svg);
}

function startMap() {
  if (model.k < 3) {
    // one or two topics make no map
    byId("topic-map-figure").hidden = true;
    document.querySelector(".topic-panes").classList.add(model.k === 1 ? "single" : "mapless");
    return;
  }
  on(["topic", "word"], drawMap);
  let width = 0;
  new ResizeObserver(() => {
    const now = byId("topic-map").clientWidth;
    if (now !== width) {
      width = now;
      drawMap();
    }
  }).observe(byId("topic-map"));
}

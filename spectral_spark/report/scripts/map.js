// The map of topics: one circle each, area by share, coloured by groups of similar topics.

const LABELS = 40;
const FEW_LABELS = 12;
const CROWD = 30; // with more topics, only the largest are named unless more names are asked for
const groupColour = (topic) => colour(`group-${model.topics.groups[topic] % 8}`);
const overlap = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

// The largest topics first; below, above, right or left of the circle, wherever no label and no other circle is, or at
// least no other centre.
function mapLabels(width, height, { x, y, radius }) {
  const boxes = (size) => model.largestFirst.map((t) => [x(t) - size(t), y(t) - size(t), x(t) + size(t), y(t) + size(t)]);
  const obstacles = [boxes((t) => 0.9 * radius(t)), boxes(() => 4)];
  const placed = [];
  const labels = [];
  const most = model.k <= CROWD || byId("map-labels").checked ? LABELS : FEW_LABELS;
  const order = [state.topic, ...model.largestFirst.filter((topic) => topic !== state.topic)];
  for (const topic of order) {
    const rank = model.largestFirst.indexOf(topic);
    const text = shortened(model.topics.labels[topic].slice(0, 3).join(" · "), 30);
    const half = text.length * 3.1 + 3;
    const far = radius(topic) + half + 2;
    const near = radius(topic) + 9;
    const sides = [0, near, 0, -near, far, 0, -far, 0];
    for (let tried = 0; tried < 2 * sides.length; tried += 2) {
      const side = tried % sides.length;
      const [dx, dy] = sides.slice(side, side + 2);
      const at = dx ? x(topic) + dx : Math.min(Math.max(x(topic), half), width - half); // not beyond the edge
      const line = y(topic) + dy;
      const box = [at - half, line - 7, at + half, line + 7];
      if (box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height) continue;
      if (placed.some((other) => overlap(box, other))) continue;
      const taken = obstacles[tried < sides.length ? 0 : 1];
      if (taken.some((other, i) => i !== rank && overlap(box, other))) continue;
      placed.push(box);
      labels.push({ topic, text, at, line });
      break;
    }
    if (labels.length >= most) break;
  }
  return labels;
}

// Where each topic goes, in pixels: the same scale on both axes, in the middle; area by share.
function mapGeometry(width, height) {
  const map = model.topics.map;
  const margin = Math.min(46, width / 8);
  const [left, right] = d3.extent(map, (point) => point[0]);
  const [low, high] = d3.extent(map, (point) => point[1]);
  const across = (width - 2 * margin) / Math.max(right - left, 1e-3);
  const scale = Math.min(across, (height - 2 * margin) / Math.max(high - low, 1e-3));
  const largest = Math.max(...model.topics.weights, 1e-9);
  const widest = Math.min(30, width / 14) * Math.min(1, Math.sqrt(40 / model.k));
  const radius = (t) => 3 + widest * Math.sqrt(model.topics.weights[t] / largest);
  const places = map.map(([x, y], t) => ({
    x: width / 2 + (x - (left + right) / 2) * scale,
    y: height / 2 - (y - (low + high) / 2) * scale,
    room: radius(t) + 1.5,
  }));
  pushApart(places, width, height);
  return { x: (t) => places[t].x, y: (t) => places[t].y, radius };
}

// Circles give way to each other, each pulled back to where its distances put it; the same model, the same map.
function pushApart(places, width, height) {
  const home = places.map(({ x, y }) => ({ x, y }));
  d3.forceSimulation(places)
    .randomSource(d3.randomLcg(7))
    .force("x", d3.forceX((_, t) => home[t].x).strength(0.12))
    .force("y", d3.forceY((_, t) => home[t].y).strength(0.12))
    .force("apart", d3.forceCollide((place) => place.room).iterations(4))
    .stop()
    .tick(180);
  for (const place of places) {
    place.x = Math.min(Math.max(place.x, place.room), width - place.room);
    place.y = Math.min(Math.max(place.y, place.room), height - place.room);
  }
}

function mapMarks({ x, y, radius }, labels) {
  const uses =
    state.word === null ? null : new Map(model.topicsOfWord(state.word).map((item) => [item.topic, item.share]));
  const opacity = (t) => (uses ? 0.06 + 0.9 * (uses.get(t) ?? 0) : 0.55);
  const title = (t) => `${t}  ${model.topicName(t)}\n${percent(model.topics.weights[t])} of the words`;
  const accent = { fill: groupColour, stroke: groupColour, strokeWidth: 1 };
  const halo = { stroke: colour("card"), strokeWidth: 4 };
  const tip = { fill: colour("card"), stroke: colour("line"), fontSize: 13 };
  const still = { pointerEvents: "none" };
  return [
    Plot.dot(model.largestFirst, { x, y, r: radius, ...accent, fillOpacity: opacity, sort: null, className: "hot" }),
    Plot.dot([state.topic], { x, y, r: (t) => radius(t) + 3, stroke: colour("ink"), strokeWidth: 2.5, ...still }),
    Plot.text(labels, { x: "at", y: "line", text: "text", fill: colour("ink"), fontSize: 11.5, ...halo, ...still }),
    Plot.tip(model.largestFirst, Plot.pointer({ x, y, title, ...tip })),
  ];
}

function drawMap() {
  const holder = byId("topic-map");
  const width = Math.max(holder.clientWidth || 500, 240);
  const height = Math.round(Math.min(width * 0.8, 460));
  const geometry = mapGeometry(width, height);
  const svg = picture({
    width,
    height,
    margin: 0,
    axis: null,
    x: { domain: [0, width], range: [0, width] },
    y: { domain: [0, height], range: [0, height] },
    r: { type: "identity" },
    ariaLabel: `Map of ${plural(model.k, "topic")} by similarity`,
    ariaDescription: "The list of all topics holds the same; each topic names the most similar ones.",
    marks: mapMarks(geometry, mapLabels(width, height, geometry)),
  });
  const circles = d3.select(svg).selectAll("g.hot circle");
  circles.on("click", (_, index) => openTopic(model.largestFirst[index]));
  holder.replaceChildren(svg);
}

function startMap() {
  if (model.k < 3) {
    // one or two topics make no map
    byId("topic-map-figure").hidden = true;
    document.querySelector(".topic-panes").classList.add(model.k === 1 ? "single" : "mapless");
    return;
  }
  byId("map-labels").addEventListener("change", drawMap);
  byId("map-labels-field").hidden = model.k <= CROWD;
  on(["topic", "word"], drawMap);
  atEveryWidth("topic-map", drawMap);
}

// What documents were asked: intervals of shares, and the documents that show a topic best.

const answers = (() => {
  const given = data.answers;
  if (!given) return null;
  const lower = unpack(given.lower, Uint16Array);
  const upper = unpack(given.upper, Uint16Array);
  const places = new Map(given.nodes.map((node, at) => [node, at * model.k]));
  const interval = (node, topic) => {
    const at = places.get(node);
    return at === undefined ? undefined : [lower[at + topic] / 65535, upper[at + topic] / 65535];
  };
  const exemplars = (node, topic) => given.exemplars[`${node}:${topic}`] ?? [];
  return { interval, exemplars, columns: given.columns, probability: given.interval };
})();

const intervalOf = (node, topic) => answers?.interval(node, topic);
const rangeText = (interval) => (interval ? `${percent(interval[0])} to ${percent(interval[1])}` : "");

// The number of a bar: the share, and below it its interval where there is one.
function shareCell(share, interval) {
  const range = interval ? h("small", { class: "range" }, rangeText(interval)) : null;
  return h("td", { ...NUMBER, "data-value": share }, percent(share), range);
}

function intervalHint() {
  return answers ? `Lines across bars are ${percent(answers.probability)} intervals. ` : "";
}

function exemplarsPart(node, topic, title) {
  const found = answers?.exemplars(node, topic) ?? [];
  if (!found.length) return null;
  const most = Math.max(...found.map(([, share]) => share));
  return h(
    "div",
    { class: "part" },
    h("h4", {}, title),
    table(
      { class: "bars", id: `exemplars-${node}-${topic}` },
      ["Document", ["Share of the topic", WITH_BAR]],
      found.map(([id, share]) => row(bdi(id), barCell(share, most), number(percent(share), share))),
    ),
  );
}

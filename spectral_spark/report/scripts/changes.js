// After an update: how the topics moved since the previous model.

const SAME_WORDS = 0.8;

function changeRow(item) {
  const known = Number.isInteger(item.topic) && item.topic >= 0 && item.topic < model.k;
  const move = item.weight_after - item.weight_before;
  return row(
    known ? topicButton(item.topic) : String(item.topic),
    wideNumber(String(item.previous ?? "–")),
    number(Number.isFinite(item.similarity) ? `${Math.round(item.similarity * 100)}%` : "–"),
    wideNumber(percent(item.weight_before)),
    number(percent(item.weight_after)),
    number(Number.isFinite(move) ? points(move) : "–"),
  );
}

function changeTable(matched) {
  const columns = [
    "Topic now",
    ["Was", WIDE_NUMBER],
    ["Words alike", NUMBER],
    ["Share before", WIDE_NUMBER],
    ["Share now", NUMBER],
    ["Points", NUMBER],
  ];
  const furthestFirst = [...matched].sort((a, b) => (a.similarity ?? 1) - (b.similarity ?? 1));
  return scrolled(table({ id: "change-table" }, columns, furthestFirst.map(changeRow)));
}

const DRIFT_NAMES = {
  unseen_share: ["New words the vocabulary lacks", percent],
  energy_outside: ["Variation the old basis misses", percent],
  energy_outside_before: ["The same, before", percent],
  loss: ["Loss on a sample of the new documents", (value) => value.toFixed(3)],
  loss_before: ["Loss on the old ones", (value) => value.toFixed(3)],
};

function driftFact([key, value]) {
  const plain = [bdi(key.replaceAll("_", " ")), (x) => String(Number(x.toPrecision(4)))];
  const [name, show] = Object.hasOwn(DRIFT_NAMES, key) ? DRIFT_NAMES[key] : plain;
  return [name, show(value)];
}

function driftPart(drift) {
  if (!drift || typeof drift !== "object") return [];
  const warnings = Array.isArray(drift.warnings) ? drift.warnings : [];
  const facts = Object.entries(drift)
    .filter(([, value]) => Number.isFinite(value))
    .map(driftFact);
  const parts = [];
  if (warnings.length) {
    const text = h("strong", {}, "The new documents differ from the old ones: ");
    parts.push(h("p", {}, text, bdi(warnings.join("; ")), "."));
  } else if (drift.drifted === false) {
    parts.push(h("p", {}, "The new documents are of the same kind as the old ones."));
  }
  return facts.length ? [...parts, stats(facts)] : parts;
}

function changeFacts({ new: born, vanished: gone, documents_before: before, documents_after: after, drift }) {
  const parts = [];
  if (Number.isFinite(before) && Number.isFinite(after)) {
    parts.push(h("p", {}, `From ${count(before)} to ${plural(after, "document")}.`));
  }
  if (born?.length) {
    const names = born.flatMap((topic, i) => [i ? "; " : "", topic < model.k ? topicButton(topic) : String(topic)]);
    parts.push(h("p", {}, h("strong", {}, "New topics: "), names));
  }
  if (gone?.length) {
    parts.push(h("p", {}, h("strong", {}, "Topics of the previous model that are gone: "), gone.join(", "), "."));
  }
  return [...parts, ...driftPart(drift)];
}

function keptSentence(matched) {
  const moved = matched.filter((item) => item.similarity < SAME_WORDS).length;
  const kept = `${count(matched.length - moved)} of ${plural(matched.length, "topic")} kept at least 80% of their words`;
  return h("p", {}, moved ? `${kept}; those that changed more come first in the table.` : `${kept}.`);
}

function startChanges() {
  const changes = data.changes;
  if (!byId("changes-body") || !changes) return;
  const matched = (changes.topics ?? []).filter((item) => item.previous !== null);
  const facts = changeFacts(changes);
  const parts = matched.length ? [keptSentence(matched), ...facts, changeTable(matched)] : facts;
  byId("changes-body").replaceChildren(h("div", { class: "card" }, parts));
}

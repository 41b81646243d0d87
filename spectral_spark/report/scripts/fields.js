// Fields that propose nodes of the tree by part of their path.

const PROPOSED = 50;
let labels = null;

// Made when first needed: with thousands of nodes it would delay the page.
function nodesByLabel() {
  if (labels) return labels;
  labels = new Map();
  for (let node = 0; node < model.size; node++) {
    const label = model.nodeLabel(node);
    labels.set(labels.has(label) ? `${label} (number ${node})` : label, node);
  }
  return labels;
}

function labelsWith(text) {
  const wanted = text.trim().toLocaleLowerCase();
  const found = [];
  for (const label of nodesByLabel().keys()) {
    if (label.toLocaleLowerCase().includes(wanted)) found.push(label);
    if (found.length >= PROPOSED) break;
  }
  return found;
}

// Calls back with the node once the text names one, or, when it is committed, fits only one.
function nodeField(input, suggestions, chosen) {
  const suggest = () => options(suggestions, labelsWith(input.value));
  input.addEventListener("focus", suggest);
  input.addEventListener("input", () => {
    suggest();
    if (nodesByLabel().has(input.value)) chosen(nodesByLabel().get(input.value));
  });
  input.addEventListener("change", () => {
    const found = labelsWith(input.value);
    if (nodesByLabel().has(input.value) || !input.value.trim()) return;
    if (found.length === 1) chosen(nodesByLabel().get(found[0]));
    else announce(found.length ? "Several groups match; go on typing" : "No such group");
  });
}

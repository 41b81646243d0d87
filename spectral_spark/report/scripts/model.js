// The model as the page knows it: decoded arrays, and the questions asked of them.

const data = JSON.parse(byId("data").textContent);

function unpack(text, Type) {
  if (Uint8Array.fromBase64) return new Type(Uint8Array.fromBase64(text).buffer);
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Type(bytes.buffer);
}

const model = (() => {
  const { words, topics, nodes, wordTopics } = data;
  const k = topics.weights.length;
  const wordShares = unpack(data.wordShares, Float32Array);
  const candidateWords = unpack(topics.words, Uint32Array);
  const candidateShares = unpack(topics.shares, Float32Array);
  const proportions = unpack(nodes.proportions, Uint16Array);
  const usedIn = unpack(wordTopics.topics, Uint16Array);
  const usedShare = unpack(wordTopics.shares, Uint8Array);
  const children = nodes.names.map(() => []);
  nodes.parents.forEach((parent, node) => {
    if (parent >= 0) children[parent].push(node);
  });

  function relevant(topic, lambda, most) {
    const found = [];
    for (let i = topics.offsets[topic]; i < topics.offsets[topic + 1]; i++) {
      const word = candidateWords[i],
        share = candidateShares[i];
      if (!(share > 0)) continue;
      const score = Math.log(share) - (1 - lambda) * Math.log(Math.max(wordShares[word], 1e-30));
      found.push({
        word,
        share,
        score,
        here: Math.min((topics.weights[topic] * share) / Math.max(wordShares[word], 1e-30), 1),
      });
    }
    found.sort((a, b) => b.score - a.score || a.word - b.word);
    return found.slice(0, most);
  }

  function topicsOfWord(word) {
    const found = [];
    for (let i = word * wordTopics.width; i < (word + 1) * wordTopics.width; i++) {
      if (usedShare[i] > 0) found.push({ topic: usedIn[i], share: usedShare[i] / 255 });
    }
    return found;
  }

  const share = (node, topic) => proportions[node * k + topic] / 65535;
  const mix = (node) => Float64Array.from({ length: k }, (_, topic) => share(node, topic));

  function distance(a, b) {
    let bits = 0;
    for (let t = 0; t < k; t++) {
      const p = share(a, t),
        q = share(b, t),
        m = (p + q) / 2;
      if (p > 0) bits += 0.5 * p * Math.log2(p / m);
      if (q > 0) bits += 0.5 * q * Math.log2(q / m);
    }
    return Math.sqrt(Math.min(Math.max(bits, 0), 1));
  }

  function path(node) {
    const above = [];
    for (let at = node; at >= 0; at = nodes.parents[at]) above.unshift(at);
    return above;
  }

  const nodeName = (node) => (nodes.parents[node] < 0 ? "Whole corpus" : nodes.names[node] || "(no name)");
  const nodeLabel = (node) =>
    nodes.parents[node] < 0 ? "Whole corpus" : path(node).slice(1).map(nodeName).join(" › ");
  const shortLabel = (node) => {
    const names = path(node)
      .slice(1)
      .map((at) => shortened(nodeName(at), 40));
    return names.join(" › ") || nodeName(node);
  };
  const topicName = (topic) => topics.labels[topic].join(" · ") || "(no words)";
  const largestFirst = [...topics.weights.keys()].sort((a, b) => topics.weights[b] - topics.weights[a] || a - b);

  return {
    k,
    words,
    wordShares,
    topics,
    nodes,
    children,
    relevant,
    topicsOfWord,
    share,
    mix,
    distance,
    path,
    nodeName,
    nodeLabel,
    shortLabel,
    topicName,
    largestFirst,
    size: nodes.names.length,
  };
})();

// One place knows what is selected; the panes listen.
const state = { topic: model.largestFirst[0], node: 0, lambda: 0.6, word: null };
const listeners = [];
const on = (keys, listener) => listeners.push([keys, listener]);
function set(changes) {
  Object.assign(state, changes);
  for (const [keys, listener] of listeners) if (keys.some((key) => key in changes)) listener(changes);
}

const topicButton = (topic) => link([`${topic} `, ...listed(model.topics.labels[topic])], () => openTopic(topic));
const nodeButton = (node) => link(bdi(model.shortLabel(node)), () => openNode(node));

// Selections live in the address, so that the back button and links work.
function goTo(hash) {
  if (location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}
const openTopic = (topic) => goTo(`#topic-${topic}`);
const openNode = (node) => goTo(`#node-${node}`);

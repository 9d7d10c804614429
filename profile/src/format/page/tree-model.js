// ---- Trees: one thread, threads side by side, threads laid over each other, callers ----
//
// All trees have the same form. The arrays `parent`, `method` and `below`, a node's width, are indexed by node. The
// functions are `calleesOf(node)`, which returns the widest callee first, and the outermost nodes for -1; `cost(node)`,
// `costBefore(node)` and `unsure(node)`. `whole` is the width of the whole tree.

function buildTree() {
  const threads = chosenThreads();
  if (threads.length === 1) return withCallees(ofThread(threads[0]));
  return withCallees(threadChosen === LAID_OVER ? laidOver(threads) : sideBySide(threads));
}

function ofThread(thread) {
  const { keys: [distance, method], now, before } = nodesOf(thread);
  const parent = new Int32Array(distance.length);
  for (let at = 0; at < parent.length; at++) parent[at] = distance[at] ? at - distance[at] : -1;
  return { parent, method, now, before };
}

/** Returns one tree whose outermost nodes are the threads. */
function sideBySide(threads) {
  const trees = threads.map(ofThread);
  const count = trees.reduce((sum, tree) => sum + tree.parent.length + 1, 0);
  const made = { parent: new Int32Array(count), method: new Int32Array(count), now: columns(count), before: difference ? columns(count) : null };
  let start = 0;
  trees.forEach((tree, at) => {
    made.parent[start] = -1;
    made.method[start] = -1 - threads[at].at;
    made.now.total[start] = -1;
    const first = start + 1;
    made.method.set(tree.method, first);
    for (let at = 0; at < tree.parent.length; at++) made.parent[first + at] = tree.parent[at] < 0 ? start : first + tree.parent[at];
    for (const [into, from] of [[made.now, tree.now], [made.before, tree.before]]) {
      if (!into) continue;
      for (const name of ["flags", "calls", "own", "total", "ownError", "totalError"]) into[name].set(from[name], first);
      for (const [at, timed] of from.timed) into.timed.set(first + at, timed);
    }
    if (made.before) {
      tree.parent.forEach((parent, at) => { if (parent < 0) made.before.total[start] += tree.before.total[at] || 0; });
    }
    start = first + tree.parent.length;
  });
  return made;
}

/** Returns one tree of several threads; nodes with the same path become one. */
function laidOver(threads) {
  const parent = [];
  const method = [];
  const sums = [];
  const before = [];
  const paths = new Map();
  for (const thread of threads) {
    const tree = ofThread(thread);
    // A total that is not written is computed from the callees in the thread's own tree.
    const { now } = withCallees(tree);
    const places = new Int32Array(tree.parent.length);
    for (let at = 0; at < places.length; at++) {
      const above = tree.parent[at] < 0 ? -1 : places[tree.parent[at]];
      const key = (above + 1) * methods.name.length + tree.method[at];
      let place = paths.get(key);
      if (place === undefined) {
        place = parent.length;
        paths.set(key, place);
        parent.push(above);
        method.push(tree.method[at]);
        sums.push(noCost());
        before.push(difference ? noCost() : null);
      }
      if (now.calls[at]) addCost(sums[place], costAt(now, at));
      if (tree.before?.calls[at]) addCost(before[place], costAt(tree.before, at));
      places[at] = place;
    }
  }
  return { parent: Int32Array.from(parent), method: Int32Array.from(method), now: inColumns(sums), before: difference ? inColumns(before) : null };
}

function inColumns(costs) {
  const made = columns(costs.length);
  costs.forEach((cost, at) => {
    made.flags[at] = (cost.estimated && ESTIMATED) | (cost.own === null && NO_OWN) | (cost.bound && BOUND) | (cost.partial && PARTIAL);
    made.calls[at] = cost.calls;
    made.own[at] = cost.own ?? NaN;
    made.total[at] = cost.total ?? NaN;
    made.ownError[at] = cost.ownError;
    made.totalError[at] = cost.totalError;
    if (cost.own !== null && cost.timed < cost.calls) made.timed.set(at, [cost.timed, cost.timedTotal]);
  });
  return made;
}

/** Gives a tree its widths and its order. The callees of a node are sorted when they are first shown,
 * because a tree can have a million nodes. */
function withCallees(tree) {
  const { parent, method, now } = tree;
  const count = parent.length;
  const below = new Float64Array(count);
  const starts = new Int32Array(count + 2);
  const own = counts ? now.calls : now.own;
  // Callers come before callees.
  for (let at = count - 1; at >= 0; at--) {
    below[at] += isThread(method[at]) ? 0 : own[at] || 0;
    if (parent[at] >= 0) below[parent[at]] += below[at];
    if (now.total[at] === -1) now.total[at] = below[at];
    starts[parent[at] + 2]++;
  }
  for (let at = 1; at < starts.length; at++) starts[at] += starts[at - 1];
  const places = starts.slice();
  const list = new Int32Array(count);
  for (let at = 0; at < count; at++) list[places[parent[at] + 1]++] = at;
  const sorted = new Uint8Array(count + 1);
  tree.below = below;
  tree.calleesOf = (node) => {
    const callees = list.subarray(starts[node + 1], starts[node + 2]);
    if (!sorted[node + 1]) {
      sorted[node + 1] = 1;
      callees.sort((a, b) => below[b] - below[a]);
    }
    return callees;
  };
  tree.cost = (node) => costAt(now, node);
  tree.costBefore = (node) => costAt(tree.before, node);
  tree.unsure = (node) => now.totalError[node] * (100 / UNSURE) > now.total[node];
  tree.whole = tree.calleesOf(-1).reduce((sum, root) => sum + below[root], 0);
  return tree;
}

/** Returns the tree of callers. With a method `of`, its callers, as wide as the time in `of` that they cause. With
 * -1, the callers of all methods, as wide as the methods' self times. Nodes are made when they are first
 * shown. */
function callersTree(tree, of) {
  const weigh = of >= 0 ? (node) => tree.below[node] : counts ? (node) => tree.now.calls[node] : (node) => tree.now.own[node] || 0;
  const errors = of >= 0 ? tree.now.totalError : tree.now.ownError;
  const made = { parent: [], method: [], below: [], whole: 0, isCallers: true };
  // For each node: the nodes of the tree that contribute its time, and the caller that each has
  // reached.
  const from = [];
  const reached = [];
  const callees = new Map();

  /** Groups pairs by method and makes a node for each group. */
  function group(parent, nodes, places) {
    const groups = new Map();
    for (let at = 0; at < nodes.length; at++) {
      if (places[at] < 0) continue;
      const weight = weigh(nodes[at]);
      const was = tree.before?.calls[nodes[at]];
      if (!weight && !was) continue;
      const method = tree.method[places[at]];
      let node = groups.get(method);
      if (node === undefined) {
        node = made.method.length;
        groups.set(method, node);
        made.parent.push(parent);
        made.method.push(method);
        made.below.push(0);
        from.push([]);
        reached.push([]);
      }
      made.below[node] += weight;
      from[node].push(nodes[at]);
      reached[node].push(places[at]);
    }
    return [...groups.values()].sort((a, b) => made.below[b] - made.below[a]);
  }

  made.calleesOf = (node) => {
    if (!callees.has(node)) callees.set(node, group(node, from[node], reached[node].map((place) => tree.parent[place])));
    return callees.get(node);
  };
  const sum = (columns) => (node) => {
    const cost = noCost();
    for (const one of from[node]) addCost(cost, costAt(columns, one));
    return cost;
  };
  made.cost = sum(tree.now);
  made.costBefore = (node) => sum(tree.before)(node);
  made.unsure = (node) => {
    let variance = 0;
    for (const one of from[node]) variance += errors[one] ** 2;
    return Math.sqrt(variance) * (100 / UNSURE) > made.below[node];
  };
  const roots = [];
  for (let node = 0; node < tree.method.length; node++) {
    const method = tree.method[node];
    if (of >= 0 ? method === of : !isThread(method)) roots.push(node);
  }
  callees.set(-1, group(-1, roots, roots));
  made.whole = made.calleesOf(-1).reduce((total, root) => total + made.below[root], 0);
  return made;
}

/** Returns the nodes from the outermost one to this one. */
function pathTo(tree, node) {
  const path = [];
  for (let at = node; at !== -1; at = tree.parent[at]) path.unshift(at);
  return path;
}

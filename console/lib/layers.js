/** A small graph in layers, from left to right: each job stands to the right of all that it depends on. */

const NODE = { width: 168, height: 46 };
const GAP = { x: 44, y: 14 };
const SWEEPS = 4;

/**
 * An edge that spans layers passes through a slot in each of them, so that it crosses no job. The slots of a layer are
 * sorted by the middle of their neighbours, to and fro, so that few edges cross.
 * @param {{jobId: string, dependsOn: string[]}[]} items
 * @returns {{width: number, height: number, nodes: {id: string, x: number, y: number}[], edges: {name: string, line: string}[]}}
 *   `x` and `y` are of the upper left corner
 */
export function layered(items) {
  const parents = new Map(items.map(({ jobId }) => [jobId, []]));
  for (const { jobId, dependsOn } of items) parents.set(jobId, dependsOn.filter((parent) => parents.has(parent)));
  const depths = new Map();
  const depth = (id) => {
    if (!depths.has(id)) {
      depths.set(id, 0);
      depths.set(id, Math.max(0, ...parents.get(id).map((parent) => depth(parent) + 1)));
    }
    return depths.get(id);
  };
  const layers = [];
  const put = (at, id) => {
    const slot = { id, at, before: [], after: [], index: 0 };
    (layers[at] ??= []).push(slot);
    return slot;
  };
  const slots = new Map(items.map(({ jobId }) => [jobId, put(depth(jobId), jobId)]));
  const chains = [];
  for (const [id, all] of parents)
    for (const parent of all) {
      const chain = [slots.get(parent)];
      for (let at = chain[0].at + 1; at < slots.get(id).at; at += 1) chain.push(put(at, null));
      chain.push(slots.get(id));
      chain.slice(1).forEach((slot, index) => (slot.before.push(chain[index]), chain[index].after.push(slot)));
      chains.push({ name: `${parent} ${id}`, chain });
    }
  const number = (layer) => layer.forEach((slot, index) => (slot.index = index - layer.length / 2));
  const middle = (slot, side) => (slot[side].length ? slot[side].reduce((sum, { index }) => sum + index, 0) / slot[side].length : slot.index);
  const sort = (side) => (layer) => number(layer.sort((one, other) => middle(one, side) - middle(other, side)));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    layers.forEach(sort("before"));
    layers.toReversed().forEach(sort("after"));
  }
  const most = Math.max(...layers.map(({ length }) => length));
  const x = ({ at }) => 2 + at * (NODE.width + GAP.x);
  const y = ({ index }) => 2 + (index + most / 2) * (NODE.height + GAP.y);
  const line = (chain) => chain.slice(1).reduce((text, slot, index) => {
    const [left, from, to] = [x(slot), y(chain[index]) + NODE.height / 2, y(slot) + NODE.height / 2];
    return `${text}C${left - GAP.x / 2} ${from} ${left - GAP.x / 2} ${to} ${left} ${to}${slot.id === null ? `h${NODE.width}` : ""}`;
  }, `M${x(chain[0]) + NODE.width} ${y(chain[0]) + NODE.height / 2}`);
  return {
    width: layers.length * (NODE.width + GAP.x) - GAP.x + 4, height: most * (NODE.height + GAP.y) - GAP.y + 4,
    nodes: items.map(({ jobId }) => ({ id: jobId, x: x(slots.get(jobId)), y: y(slots.get(jobId)), ...NODE })),
    edges: chains.map(({ name, chain }) => ({ name, line: line(chain) })),
  };
}

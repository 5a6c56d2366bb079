// Places for the arms of a graph: pivot distances, then forces with a quadtree, component by component.

/** Length of an edge, repulsion, pull to the middle, and openness of the quadtree. */
const [LENGTH, REPULSION, PULL, THETA] = [60, 260, 0.012, 0.9];
/** Steps of the forces, and steps between two pictures. */
const [STEPS, BETWEEN] = [300, 12];
/** Components from this size begin with distances to pivots; edges above this number are a sample. */
const [LARGE, MOST_EDGES] = [12, 40_000];
/** Distance between components. */
const GAP = 46;

/** Numbers in [0, 1) that are the same every time. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Neighbours of each node in one array: those of i are items[start[i]] to items[start[i + 1] - 1]. */
export function adjacency(count, edges) {
  const start = new Int32Array(count + 1);
  for (const end of edges) start[end + 1]++;
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const items = new Int32Array(edges.length);
  const next = start.slice();
  for (let e = 0; e < edges.length; e += 2) {
    items[next[edges[e]]++] = edges[e + 1];
    items[next[edges[e + 1]]++] = edges[e];
  }
  return { start, items };
}

/**
 * Yield places {x, y} of `count` nodes, the last of which are final.
 *
 * `edges` has two nodes for each edge, without direction.
 */
export function* layout(count, edges) {
  const used = sampled(edges);
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const parts = components(count, adjacency(count, used));
  const packed = () => {
    const places = { x: x.slice(), y: y.slice() };
    pack(parts, places.x, places.y);
    return places;
  };
  const local = new Int32Array(count);
  const edgesOf = partEdges(parts, used, count, local);
  for (const [number, nodes] of parts.entries()) {
    const part = new Part(nodes.length, edgesOf[number], random(number + 1));
    const shows = nodes.length > 300;
    for (let step = 0; step < part.steps; step++) {
      part.step(step);
      if (shows && step % BETWEEN === BETWEEN - 1) {
        part.write(nodes, x, y);
        yield packed();
      }
    }
    part.turn();
    part.write(nodes, x, y);
  }
  yield packed();
}

/** A sample of very many edges: the shape of a dense graph does not depend on all of them. */
function sampled(edges) {
  const many = edges.length / 2;
  if (many <= MOST_EDGES) return edges;
  const draw = random(7);
  const found = [];
  for (let e = 0; e < many; e++) {
    if (draw() * many < MOST_EDGES) found.push(edges[2 * e], edges[2 * e + 1]);
  }
  return Int32Array.from(found);
}

/** Connected nodes, the largest component first. */
function components(count, { start, items }) {
  const seen = new Uint8Array(count);
  const found = [];
  for (let root = 0; root < count; root++) {
    if (seen[root]) continue;
    seen[root] = 1;
    const nodes = [root];
    for (let k = 0; k < nodes.length; k++) {
      for (let e = start[nodes[k]]; e < start[nodes[k] + 1]; e++) {
        if (!seen[items[e]]) {
          seen[items[e]] = 1;
          nodes.push(items[e]);
        }
      }
    }
    found.push(nodes);
  }
  return found.sort((a, b) => b.length - a.length);
}

function partEdges(parts, edges, count, local) {
  const part = new Int32Array(count);
  parts.forEach((nodes, number) => nodes.forEach((node, i) => {
    part[node] = number;
    local[node] = i;
  }));
  const found = parts.map(() => []);
  for (let e = 0; e < edges.length; e += 2) found[part[edges[e]]].push(local[edges[e]], local[edges[e + 1]]);
  return found.map((one) => Int32Array.from(one));
}

/** One component: velocities as in d3-force, with repulsion by a quadtree. */
class Part {
  constructor(count, edges, draw) {
    this.count = count;
    this.edges = edges;
    this.x = new Float64Array(count);
    this.y = new Float64Array(count);
    this.vx = new Float64Array(count);
    this.vy = new Float64Array(count);
    this.degree = new Int32Array(count);
    for (const end of edges) this.degree[end]++;
    const bonds = edges.length / 2;
    this.strength = new Float64Array(bonds);
    this.bias = new Float64Array(bonds);
    for (let e = 0; e < bonds; e++) {
      const [a, b] = [this.degree[edges[2 * e]], this.degree[edges[2 * e + 1]]];
      this.strength[e] = 1 / Math.min(a, b);
      this.bias[e] = a / (a + b);
    }
    this.steps = count === 1 ? 0 : count <= 3 ? 60 : STEPS;
    this.decay = 0.001 ** (1 / STEPS);
    this.tree = new Tree(count);
    this.#begin(draw);
  }

  #begin(draw) {
    const { count, x, y } = this;
    const spread = LENGTH * Math.sqrt(count) * 0.6;
    const placed = count >= LARGE && this.#pivots(draw, spread);
    for (let i = 0; i < count; i++) {
      const angle = (2 * Math.PI * i) / count;
      if (!placed) {
        x[i] = spread * Math.sin(angle);
        y[i] = -spread * Math.cos(angle);
      }
      x[i] += (draw() - 0.5) * (placed ? LENGTH : 0.1);
      y[i] += (draw() - 0.5) * (placed ? LENGTH : 0.1);
    }
    this.start = placed ? 0.7 : 1;
  }

  /** Two principal directions of the distances to a few nodes that are far from each other. */
  #pivots(draw, spread) {
    const { count, x, y } = this;
    const pivots = Math.min(24, count);
    const { start, items } = adjacency(count, this.edges);
    const near = new Float64Array(count).fill(Infinity);
    const columns = [];
    let pivot = this.degree.indexOf(this.degree.reduce((a, b) => Math.min(a, b)));
    for (let p = 0; p < pivots; p++) {
      const far = distances(pivot, count, start, items);
      let next = 0;
      for (let i = 0; i < count; i++) {
        near[i] = Math.min(near[i], far[i]);
        if (near[i] > near[next]) next = i;
      }
      columns.push(far);
      pivot = next;
    }
    for (const column of columns) for (let i = 0; i < count; i++) column[i] *= -0.5 * column[i];
    const means = new Float64Array(count);
    for (const column of columns) {
      const mean = column.reduce((a, b) => a + b, 0) / count;
      for (let i = 0; i < count; i++) {
        column[i] -= mean;
        means[i] += column[i] / pivots;
      }
    }
    for (const column of columns) for (let i = 0; i < count; i++) column[i] -= means[i];
    const found = [];
    for (const target of [x, y]) {
      let vector = Float64Array.from(columns, () => draw() - 0.5);
      for (let turn = 0; turn < 60; turn++) {
        for (const other of found) remove(vector, other);
        const image = times(columns, vector, count);
        vector = Float64Array.from(columns, (column) => dot(column, image));
        for (const other of found) remove(vector, other);
        const size = Math.sqrt(dot(vector, vector));
        if (!(size > 1e-9)) return false;
        vector = vector.map((value) => value / size);
      }
      found.push(vector);
      target.set(times(columns, vector, count));
    }
    let most = 0;
    for (let i = 0; i < count; i++) most = Math.max(most, Math.abs(x[i]), Math.abs(y[i]));
    if (!(most > 0)) return false;
    for (let i = 0; i < count; i++) {
      x[i] *= spread / most;
      y[i] *= spread / most;
    }
    return true;
  }

  step(number) {
    const { count, x, y, vx, vy, edges, strength, bias } = this;
    const heat = this.start * this.decay ** number;
    for (let e = 0; e < strength.length; e++) {
      const [a, b] = [edges[2 * e], edges[2 * e + 1]];
      const dx = x[b] + vx[b] - x[a] - vx[a] || 1e-6;
      const dy = y[b] + vy[b] - y[a] - vy[a] || 1e-6;
      const far = Math.sqrt(dx * dx + dy * dy);
      const pull = ((far - LENGTH) / far) * heat * strength[e];
      vx[b] -= dx * pull * bias[e];
      vy[b] -= dy * pull * bias[e];
      vx[a] += dx * pull * (1 - bias[e]);
      vy[a] += dy * pull * (1 - bias[e]);
    }
    this.tree.build(x, y);
    this.tree.push(x, y, vx, vy, heat * REPULSION);
    for (let i = 0; i < count; i++) {
      vx[i] = (vx[i] - x[i] * PULL * heat) * 0.6;
      vy[i] = (vy[i] - y[i] * PULL * heat) * 0.6;
      x[i] += vx[i];
      y[i] += vy[i];
    }
  }

  /** Turn the longest direction to the horizontal, because windows are wide. */
  turn() {
    const { count, x, y } = this;
    if (count < LARGE) return;
    const [mx, my] = [x.reduce((a, b) => a + b, 0) / count, y.reduce((a, b) => a + b, 0) / count];
    let [xx, xy, yy] = [0, 0, 0];
    for (let i = 0; i < count; i++) {
      xx += (x[i] - mx) ** 2;
      xy += (x[i] - mx) * (y[i] - my);
      yy += (y[i] - my) ** 2;
    }
    const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    for (let i = 0; i < count; i++) {
      const [a, b] = [x[i] - mx, y[i] - my];
      x[i] = a * cos + b * sin;
      y[i] = b * cos - a * sin;
    }
  }

  write(nodes, x, y) {
    nodes.forEach((node, i) => {
      x[node] = this.x[i];
      y[node] = this.y[i];
    });
  }
}

function distances(from, count, start, items) {
  const found = new Float64Array(count).fill(-1);
  const queue = new Int32Array(count);
  found[from] = 0;
  queue[0] = from;
  for (let k = 0, end = 1; k < end; k++) {
    const node = queue[k];
    for (let e = start[node]; e < start[node + 1]; e++) {
      if (found[items[e]] < 0) {
        found[items[e]] = found[node] + 1;
        queue[end++] = items[e];
      }
    }
  }
  return found;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function remove(vector, other) {
  const share = dot(vector, other);
  for (let i = 0; i < vector.length; i++) vector[i] -= share * other[i];
}

function times(columns, vector, count) {
  const found = new Float64Array(count);
  columns.forEach((column, p) => {
    for (let i = 0; i < count; i++) found[i] += column[i] * vector[p];
  });
  return found;
}

/** A quadtree of points with equal weights (Barnes and Hut, 1986). */
class Tree {
  constructor(count) {
    this.points = count;
    this.reserve(Math.max(64, 4 * count));
    this.stack = new Int32Array(4096);
  }

  reserve(size) {
    const grown = (Kind, old, width) => {
      const found = new Kind(width * size);
      if (old) found.set(old);
      return found;
    };
    this.kids = grown(Int32Array, this.kids, 4);
    this.body = grown(Int32Array, this.body, 1);
    this.mass = grown(Float64Array, this.mass, 1);
    this.sumX = grown(Float64Array, this.sumX, 1);
    this.sumY = grown(Float64Array, this.sumY, 1);
    this.width = grown(Float64Array, this.width, 1);
    this.size = size;
  }

  cell(width) {
    if (this.cells === this.size) this.reserve(2 * this.size);
    const cell = this.cells++;
    this.kids.fill(-1, 4 * cell, 4 * cell + 4);
    this.body[cell] = -1;
    this.mass[cell] = this.sumX[cell] = this.sumY[cell] = 0;
    this.width[cell] = width;
    return cell;
  }

  build(x, y) {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.points; i++) {
      x0 = Math.min(x0, x[i]);
      x1 = Math.max(x1, x[i]);
      y0 = Math.min(y0, y[i]);
      y1 = Math.max(y1, y[i]);
    }
    const width = Math.max(x1 - x0, y1 - y0, 1e-3);
    this.cells = 0;
    this.cell(width);
    for (let i = 0; i < this.points; i++) this.insert(i, x, y, x0, y0, width);
  }

  insert(i, x, y, left, top, width) {
    let cell = 0;
    for (let depth = 0; ; depth++) {
      const was = this.mass[cell]++;
      this.sumX[cell] += x[i];
      this.sumY[cell] += y[i];
      if (was === 0) {
        this.body[cell] = i;
        return;
      }
      if (depth > 30) return; // points at the same place
      width /= 2;
      const other = this.body[cell];
      if (other >= 0) {
        // a leaf becomes a branch: its point moves down
        this.body[cell] = -1;
        const kid = this.cell(width);
        this.kids[4 * cell + (x[other] >= left + width ? 1 : 0) + (y[other] >= top + width ? 2 : 0)] = kid;
        this.body[kid] = other;
        this.mass[kid] = was;
        this.sumX[kid] = was * x[other];
        this.sumY[kid] = was * y[other];
      }
      const [right, low] = [x[i] >= left + width ? 1 : 0, y[i] >= top + width ? 1 : 0];
      left += right * width;
      top += low * width;
      const slot = 4 * cell + right + 2 * low;
      if (this.kids[slot] < 0) {
        const kid = this.cell(width);
        this.kids[slot] = kid;
      }
      cell = this.kids[slot];
    }
  }

  /** Add the repulsion of all points to the velocities. */
  push(x, y, vx, vy, power) {
    const { stack, kids, mass, sumX, sumY, width, body } = this;
    const open = THETA * THETA;
    for (let i = 0; i < this.points; i++) {
      let top = 0;
      stack[top++] = 0;
      let [fx, fy] = [0, 0];
      while (top > 0) {
        const cell = stack[--top];
        const weight = mass[cell];
        if (weight === 0 || body[cell] === i) continue;
        const dx = sumX[cell] / weight - x[i];
        const dy = sumY[cell] / weight - y[i];
        const far = dx * dx + dy * dy;
        if (body[cell] >= 0 || width[cell] * width[cell] < open * far) {
          const force = (power * weight) / Math.max(far, 1);
          fx -= dx * force;
          fy -= dy * force;
        } else {
          for (let k = 4 * cell; k < 4 * cell + 4; k++) if (kids[k] >= 0) stack[top++] = kids[k];
        }
      }
      vx[i] += fx;
      vy[i] += fy;
    }
  }
}

/** Place the components in rows, the largest first, around the middle. */
function pack(parts, x, y) {
  const boxes = parts.map((nodes) => {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const node of nodes) {
      x0 = Math.min(x0, x[node]);
      x1 = Math.max(x1, x[node]);
      y0 = Math.min(y0, y[node]);
      y1 = Math.max(y1, y[node]);
    }
    return { nodes, x0, y0, w: x1 - x0 + GAP, h: y1 - y0 + GAP };
  });
  if (boxes.length > 1) {
    const area = boxes.reduce((sum, box) => sum + box.w * box.h, 0);
    const room = Math.max(boxes[0].w, 1.25 * Math.sqrt(area));
    let [left, top, high] = [0, 0, 0];
    for (const box of boxes) {
      if (left > 0 && left + box.w > room + 1e-6) {
        top += high;
        left = high = 0;
      }
      for (const node of box.nodes) {
        x[node] += left - box.x0;
        y[node] += top - box.y0;
      }
      left += box.w;
      high = Math.max(high, box.h);
    }
  }
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    x0 = Math.min(x0, x[i]);
    x1 = Math.max(x1, x[i]);
    y0 = Math.min(y0, y[i]);
    y1 = Math.max(y1, y[i]);
  }
  for (let i = 0; i < x.length; i++) {
    x[i] -= (x0 + x1) / 2;
    y[i] -= (y0 + y1) / 2;
  }
}

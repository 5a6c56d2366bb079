// Draws a graph on a canvas: panning, zooming, labels, selection.

import { clipped, count } from "../format.js";

/** Colours of the ramp, and steps of the opacity of edges. */
const [STEPS, OPACITIES] = [24, 4];
/** More edges than this are a sample, until an arm is selected. */
export const MOST_EDGES = 20_000;
/** From this number of arms and edges, movements use a picture until they end. */
const HEAVY = 1500;
/** Part of the window that the picture has beyond each side, and milliseconds until it is drawn again. */
const [BEYOND, IDLE] = [0.4, 110];
const [LEAST, MOST] = [0.02, 14];
const LABEL = 12;
/** Edges of one path: the time to draw a path grows faster than its length. */
const CHUNK = 100;
/** From this number of arms, a chosen one hides the names of arms that are not its neighbours. */
const FOCUS = 150;

/** The graph of an answer of the service, in arrays. */
export class GraphData {
  constructor({ arms, edges, directed, last }) {
    this.arms = arms;
    this.directed = directed = directed || !isSymmetric(edges, arms.length);
    this.last = last;
    const count_ = arms.length;
    this.place = new Map(arms.map((one, i) => [String(one.arm), i]));
    this.key = arms.map((one) => JSON.stringify(one.arm)).join();
    let list = edges;
    if (!directed) {
      const seen = new Set();
      list = edges.filter(([i, j]) => {
        const pair = Math.min(i, j) * count_ + Math.max(i, j);
        return !seen.has(pair) && seen.add(pair);
      });
    }
    this.edges = list;
    this.from = Int32Array.from(list, ([i]) => i);
    this.to = Int32Array.from(list, ([, j]) => j);
    this.chance = Float32Array.from(list, ([, , p]) => p);
    const start = new Int32Array(count_ + 1);
    for (const [i, j] of list) {
      start[i + 1]++;
      start[j + 1]++;
    }
    for (let i = 0; i < count_; i++) start[i + 1] += start[i];
    this.start = start;
    this.incident = new Int32Array(2 * list.length);
    const next = start.slice();
    list.forEach(([i, j], e) => {
      this.incident[next[i]++] = e;
      this.incident[next[j]++] = e;
    });
    this.#mates();
  }

  /** For each directed edge, the edge in the other direction, or -1. */
  #mates() {
    this.mate = new Int32Array(this.from.length).fill(-1);
    if (!this.directed) return;
    const known = new Map();
    for (let e = 0; e < this.from.length; e++) known.set(this.from[e] * this.arms.length + this.to[e], e);
    for (let e = 0; e < this.from.length; e++) this.mate[e] = known.get(this.to[e] * this.arms.length + this.from[e]) ?? -1;
  }

  /** Edges without direction for the layout: two numbers each. */
  bonds() {
    const found = [];
    for (let e = 0; e < this.from.length; e++) if (this.mate[e] < 0 || this.from[e] < this.to[e]) found.push(this.from[e], this.to[e]);
    return Int32Array.from(found);
  }

  /** Arms that an arm reveals, and arms that reveal it: [{arm, p}], the most probable first. */
  neighbours(i) {
    const [reveals, by] = [[], []];
    for (let k = this.start[i]; k < this.start[i + 1]; k++) {
      const e = this.incident[k];
      if (this.from[e] === i) reveals.push({ i: this.to[e], p: this.chance[e] });
      else (this.directed ? by : reveals).push({ i: this.from[e], p: this.chance[e] });
    }
    const order = (list) => list.sort((a, b) => b.p - a.p || (this.arms[b.i].alpha ?? 0) - (this.arms[a.i].alpha ?? 0) || a.i - b.i);
    return { reveals: order(reveals), by: order(by) };
  }
}

/** Whether each edge has one in the other direction with the same probability. */
function isSymmetric(edges, count_) {
  const chances = new Map(edges.map(([i, j, p]) => [i * count_ + j, p]));
  return edges.every(([i, j, p]) => (chances.get(j * count_ + i) ?? p) === p);
}

function mix(a, b, share) {
  return a.map((value, i) => value + (b[i] - value) * share);
}

/** Colours of the theme, from the style sheet. */
function palette(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(name).trim();
  const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const stops = of("--ramp").split(/\s+/).map(hex);
  const ramp = Array.from({ length: STEPS }, (_, i) => {
    const at = (i / (STEPS - 1)) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    return `rgb(${mix(stops[low], stops[low + 1], at - low).map(Math.round).join(" ")})`;
  });
  return {
    ramp, ground: of("--card"), ink: of("--ink"), soft: of("--soft"), edge: of("--edge"), outline: of("--node-line"),
    played: of("--played"), out: of("--out"), into: of("--into"), plain: of("--node-plain"), font: style.fontFamily,
  };
}

export class GraphCanvas {
  /** The chosen arm and its neighbours. */
  #near = [];

  /** `selected(index or null)` is called when the user chooses an arm. */
  constructor(canvas, { selected }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.onSelect = selected;
    this.data = null;
    this.x = this.y = new Float64Array(0);
    this.scale = this.fitted = 1;
    this.left = this.top = 0;
    this.width = this.height = 1;
    this.ratio = 1;
    this.chosen = this.hover = -1;
    this.moving = false;
    this.picture = null;
    this.isFitted = true;
    this.isPlaced = false;
    this.pointers = new Map();
    this.colours = palette(canvas);
    this.stop = new AbortController();
    this.#listen();
  }

  destroy() {
    this.stop.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.motion);
    clearTimeout(this.idle);
  }

  /** Show a graph; places of arms are kept if the arms are the same. */
  setData(data, { size, colour }) {
    const same = this.data?.key === data.key;
    this.data = data;
    if (!same) {
      this.x = new Float64Array(data.arms.length);
      this.y = new Float64Array(data.arms.length);
      this.hover = this.chosen = -1;
      this.#near = [];
      this.isFitted = true;
      this.isPlaced = false;
    }
    const most = data.arms.reduce((high, one) => Math.max(high, one[size]), 1);
    this.radius = Float32Array.from(data.arms, (one) => 4.5 + 9.5 * Math.sqrt(Math.max(0, one[size]) / most));
    this.most = colour;
    this.bucket = Int8Array.from(data.arms, (one) =>
      one.alpha === null || !(colour > 0) ? -1 : Math.min(STEPS - 1, Math.round(Math.sqrt(Math.min(1, one.alpha / colour)) * (STEPS - 1))));
    const alpha = (i) => data.arms[i].alpha ?? 0;
    this.order = data.arms.map((_, i) => i).sort((a, b) => alpha(b) - alpha(a) || data.arms[b].outcomes - data.arms[a].outcomes || a - b);
    this.#sampleEdges();
    this.#stale();
    return same;
  }

  #sampleEdges() {
    const { from, chance } = this.data;
    const share = MOST_EDGES / from.length;
    this.buckets = Array.from({ length: OPACITIES }, () => []);
    for (let e = 0; e < from.length; e++) {
      // a fixed sequence with little discrepancy chooses the edges of a sample
      if (share < 1 && (e * 0.6180339887498949) % 1 >= share) continue;
      this.buckets[Math.min(OPACITIES - 1, Math.floor(chance[e] * OPACITIES))].push(e);
    }
    this.drawnEdges = this.buckets.reduce((sum, one) => sum + one.length, 0);
  }

  setPlaces(x, y) {
    this.isPlaced = true;
    this.x = x;
    this.y = y;
    if (this.isFitted) this.fit();
    this.#stale();
  }

  setChosen(i) {
    this.chosen = i;
    const near = new Set(i >= 0 ? [i] : []);
    if (i >= 0) for (let k = this.data.start[i]; k < this.data.start[i + 1]; k++) near.add(this.data.from[this.data.incident[k]]).add(this.data.to[this.data.incident[k]]);
    this.#near = [...near];
    this.#stale();
  }

  setColours() {
    this.colours = palette(this.canvas);
    this.#stale();
  }

  // Places in the window ------------------------------------------------------------------------

  toX(i) {
    return this.x[i] * this.scale + this.left;
  }

  toY(i) {
    return this.y[i] * this.scale + this.top;
  }

  get zoom() {
    const spacing = Math.sqrt((this.width * this.height) / Math.max(1, this.x.length));
    return Math.min(1.6, Math.max(0.2, spacing / 70)) * Math.sqrt(this.scale / this.fitted);
  }

  size(i) {
    return Math.max(1.7, this.radius[i] * this.zoom);
  }

  fit() {
    const { x, y, width, height } = this;
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < x.length; i++) {
      x0 = Math.min(x0, x[i]);
      x1 = Math.max(x1, x[i]);
      y0 = Math.min(y0, y[i]);
      y1 = Math.max(y1, y[i]);
    }
    if (!(x1 >= x0)) return;
    // room for the names of small graphs, which are below the arms
    const [side, above, below] = x.length > 300 ? [24, 24, 24] : [64, 34, 62];
    this.scale = Math.min((width - 2 * side) / Math.max(1, x1 - x0), (height - above - below) / Math.max(1, y1 - y0), 3.5);
    this.scale = Math.max(1e-4, this.scale);
    this.fitted = this.scale;
    this.left = width / 2 - ((x0 + x1) / 2) * this.scale;
    this.top = (height + above - below) / 2 - ((y0 + y1) / 2) * this.scale;
    this.isFitted = true;
    this.#stale();
  }

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const next = Math.min(MOST * this.fitted * 4, Math.max(LEAST * this.fitted * 10, this.scale * factor));
    const real = next / this.scale;
    this.left = x - (x - this.left) * real;
    this.top = y - (y - this.top) * real;
    this.scale = next;
    this.isFitted = false;
    this.#move();
  }

  panBy(dx, dy) {
    this.left += dx;
    this.top += dy;
    this.isFitted = false;
    this.#move();
  }

  /** Move to an arm, with a glide unless the user prefers less motion. */
  centre(i, { closer = false } = {}) {
    if (!(i >= 0) || i >= this.x.length) return;
    this.isFitted = false;
    const wanted = closer ? Math.max(this.scale, Math.min(2.2, this.fitted * Math.max(1, Math.sqrt(this.x.length / 40)))) : this.scale;
    const from = { scale: this.scale, left: this.left, top: this.top };
    const to = { scale: wanted, left: this.width / 2 - this.x[i] * wanted, top: this.height / 2 - this.y[i] * wanted };
    const glide = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 280;
    const start = performance.now();
    cancelAnimationFrame(this.motion);
    const step = (now) => {
      const share = glide === 0 ? 1 : Math.min(1, (now - start) / glide);
      const ease = 1 - (1 - share) ** 3;
      for (const key of ["scale", "left", "top"]) this[key] = from[key] + (to[key] - from[key]) * ease;
      this.#move();
      if (share < 1) this.motion = requestAnimationFrame(step);
    };
    this.motion = requestAnimationFrame(step);
  }

  /** Whether an arm is in the window, not at its edge. */
  isVisible(i) {
    const [x, y] = [this.toX(i), this.toY(i)];
    return x > 20 && y > 20 && x < this.width - 20 && y < this.height - 20;
  }

  at(x, y) {
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < this.x.length; i++) {
      const far = Math.hypot(this.toX(i) - x, this.toY(i) - y) - this.size(i);
      if (far < 6 && far < least) [best, least] = [i, far];
    }
    return best;
  }

  /** The nearest arm in a direction, for the arrow keys. */
  beside(i, dx, dy) {
    let [best, least] = [-1, Infinity];
    for (let j = 0; j < this.x.length; j++) {
      if (j === i) continue;
      const [x, y] = [this.x[j] - this.x[i], this.y[j] - this.y[i]];
      const along = x * dx + y * dy;
      if (along <= 0) continue;
      const aside = Math.abs(x * dy - y * dx);
      if (aside > 1.5 * along) continue;
      const far = along + 2 * aside;
      if (far < least) [best, least] = [j, far];
    }
    return best;
  }

  // Input ---------------------------------------------------------------------------------------

  #listen() {
    const { canvas } = this;
    const options = { signal: this.stop.signal };
    const on = (name, action, more = {}) => canvas.addEventListener(name, action, { ...options, ...more });
    this.observer = new ResizeObserver(() => this.#resize());
    this.observer.observe(canvas);
    on("wheel", (event) => {
      // the page scrolls until the graph has the focus
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      const step = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 100 : 1;
      this.zoomBy(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * step)) * 0.0022), ...this.#spot(event));
    }, { passive: false });
    on("pointerdown", (event) => {
      if (event.button !== 0) return;
      cancelAnimationFrame(this.motion);
      const spot = this.#spot(event);
      this.pointers.set(event.pointerId, { spot, start: spot, dragged: false, free: event.pointerType === "mouse" || document.activeElement === canvas });
      if (event.pointerType === "mouse") canvas.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      const one = this.pointers.get(event.pointerId);
      const spot = this.#spot(event);
      if (!one) {
        if (event.pointerType === "mouse") this.#hoverAt(...spot);
        return;
      }
      const [dx, dy] = [spot[0] - one.spot[0], spot[1] - one.spot[1]];
      if (!one.dragged && Math.hypot(spot[0] - one.start[0], spot[1] - one.start[1]) < 4) return;
      one.dragged = true;
      const others = [...this.pointers.values()].filter((other) => other !== one);
      if (others.length === 1) {
        const pin = others[0].spot;
        const before = Math.hypot(one.spot[0] - pin[0], one.spot[1] - pin[1]);
        const after = Math.hypot(spot[0] - pin[0], spot[1] - pin[1]);
        if (before > 0 && after > 0) this.zoomBy(after / before, ...pin);
        others[0].dragged = true;
      } else if (one.free) {
        canvas.classList.add("dragging");
        this.panBy(dx, dy);
      }
      one.spot = spot;
    });
    const end = (event) => {
      const one = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      canvas.classList.remove("dragging");
      if (!one || one.dragged || event.type === "pointercancel") return;
      const found = this.at(...one.start);
      this.onSelect(found >= 0 ? found : null);
    };
    on("pointerup", end);
    on("pointercancel", end);
    on("pointerleave", () => this.#hover(-1));
    on("dblclick", (event) => this.zoomBy(event.shiftKey ? 0.5 : 2, ...this.#spot(event)));
    on("keydown", (event) => this.#key(event));
    addEventListener("themechange", () => requestAnimationFrame(() => this.setColours()), options);
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const arrow = arrows[event.key];
    if (arrow && event.shiftKey) this.panBy(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow && this.chosen < 0) this.onSelect(this.order[0] ?? null);
    else if (arrow) {
      const next = this.beside(this.chosen, ...arrow);
      if (next >= 0) this.onSelect(next);
    } else if (event.key === "+" || event.key === "=") this.zoomBy(1.4);
    else if (event.key === "-") this.zoomBy(1 / 1.4);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape" && this.chosen >= 0) this.onSelect(null);
    else return;
    event.preventDefault();
  }

  #spot(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  #hoverAt(x, y) {
    this.#hover(this.at(x, y));
  }

  #hover(i) {
    if (i === this.hover) return;
    this.hover = i;
    this.canvas.classList.toggle("pointing", i >= 0);
    this.#request();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    const wasFitted = this.isFitted;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.left += (width - this.width) / 2;
    this.top += (height - this.height) / 2;
    [this.width, this.height] = [width, height];
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    if (wasFitted) this.fit();
    this.#stale();
    this.#draw(); // without an empty frame
  }

  // Drawing -------------------------------------------------------------------------------------

  get isHeavy() {
    return this.data !== null && this.data.arms.length + this.drawnEdges > HEAVY;
  }

  /** The picture is not valid any more. */
  #stale() {
    this.picture = null;
    this.#request();
  }

  /** The graph moves: a heavy one as a picture, which is drawn again at the end. */
  #move() {
    this.moving = true;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      this.moving = false;
      this.#request();
    }, IDLE);
    this.#request();
  }

  #request() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.#draw();
    });
  }

  #draw() {
    const { context, width, height, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.isPlaced) return;
    const view = { scale: this.scale, left: this.left, top: this.top, width, height };
    if (this.isHeavy) {
      this.#showPicture(view);
      this.#chosenEdges(context);
      if (this.chosen >= 0) this.#nodes(context, view, this.#near);
    } else {
      this.#edges(context, view);
      this.#chosenEdges(context);
      this.#nodes(context, view);
    }
    this.#rings(context);
    if (!this.isHeavy || !this.moving) this.#labels(context, view);
  }

  /** Draw the arms and edges from a picture that is larger than the window. */
  #showPicture(view) {
    const covers = () => {
      const one = this.picture;
      if (!one) return false;
      const factor = view.scale / one.scale;
      if (!this.moving) return factor === 1 && this.#offset(view, one, factor).every((gap) => gap >= 0);
      return factor > 0.45 && factor < 2.6 && (factor < 1 || this.#offset(view, one, factor).every((gap) => gap >= 0));
    };
    if (!covers()) this.picture = this.#paint(view);
    const { picture, context } = this;
    const factor = view.scale / picture.scale;
    const x = view.left - picture.left * factor;
    const y = view.top - picture.top * factor;
    context.drawImage(picture.canvas, x, y, picture.width * factor, picture.height * factor);
  }

  /** How far the picture reaches beyond the four sides of the window. */
  #offset(view, one, factor) {
    const x = view.left - one.left * factor;
    const y = view.top - one.top * factor;
    return [-x, -y, x + one.width * factor - view.width, y + one.height * factor - view.height].map((gap) => gap + 0.5);
  }

  #paint(view) {
    const [dx, dy] = [Math.ceil(view.width * BEYOND), Math.ceil(view.height * BEYOND)];
    const canvas = this.picture?.canvas ?? this.spare ?? document.createElement("canvas");
    this.spare = canvas;
    const [width, height] = [view.width + 2 * dx, view.height + 2 * dy];
    const [w, h] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const shifted = { scale: view.scale, left: view.left + dx, top: view.top + dy, width, height };
    this.#edges(context, shifted);
    this.#nodes(context, shifted);
    return { canvas, width, height, scale: view.scale, left: shifted.left, top: shifted.top };
  }

  #edges(context, view) {
    const { data, colours, buckets } = this;
    const faint = this.chosen >= 0 ? 0.35 : 1;
    const crowd = Math.min(1, Math.max(0.22, 700 / Math.max(1, this.drawnEdges)) + 0.25 * Math.log2(Math.max(1, view.scale / this.fitted)));
    context.lineWidth = Math.max(0.6, Math.min(1.4, 1.2 * this.zoom));
    context.strokeStyle = context.fillStyle = colours.edge;
    buckets.forEach((edges, level) => {
      if (edges.length === 0) return;
      context.globalAlpha = faint * Math.min(0.75, crowd) * (0.3 + (0.7 * level) / (OPACITIES - 1));
      for (let k = 0; k < edges.length; k += CHUNK) {
        const some = edges.slice(k, k + CHUNK);
        context.beginPath();
        for (const e of some) this.#line(context, view, e);
        context.stroke();
        if (!data.directed) continue;
        context.beginPath();
        for (const e of some) this.#arrow(context, view, e);
        context.fill();
      }
    });
    context.globalAlpha = 1;
  }

  /** Ends of an edge in the window, or null if it is outside. */
  #ends(view, e) {
    const [i, j] = [this.data.from[e], this.data.to[e]];
    const [x1, y1] = [this.x[i] * view.scale + view.left, this.y[i] * view.scale + view.top];
    const [x2, y2] = [this.x[j] * view.scale + view.left, this.y[j] * view.scale + view.top];
    if ((x1 < 0 && x2 < 0) || (y1 < 0 && y2 < 0) || (x1 > view.width && x2 > view.width) || (y1 > view.height && y2 > view.height)) return null;
    return [x1, y1, x2, y2];
  }

  /** Whether two directed edges between the same arms have their own curves. */
  #isBent(e) {
    const mate = this.data.mate[e];
    return mate >= 0 && this.data.chance[mate] !== this.data.chance[e];
  }

  #line(context, view, e) {
    const mate = this.data.mate[e];
    const bent = this.#isBent(e);
    if (mate >= 0 && !bent && mate < e) return; // one line for both directions
    const ends = this.#ends(view, e);
    if (!ends) return;
    const [x1, y1, x2, y2] = ends;
    context.moveTo(x1, y1);
    if (bent) context.quadraticCurveTo((x1 + x2) / 2 - (y2 - y1) * 0.14, (y1 + y2) / 2 + (x2 - x1) * 0.14, x2, y2);
    else context.lineTo(x2, y2);
  }

  #arrow(context, view, e) {
    const ends = this.#ends(view, e);
    if (!ends) return;
    let [x1, y1, x2, y2] = ends;
    if (this.#isBent(e)) [x1, y1] = [(x1 + x2) / 2 - (y2 - y1) * 0.14, (y1 + y2) / 2 + (x2 - x1) * 0.14];
    const far = Math.hypot(x2 - x1, y2 - y1);
    const size = Math.min(9, 3.5 + 4.5 * this.zoom);
    const room = this.size(this.data.to[e]) + 2;
    if (far < room + size + 4) return;
    const [ux, uy] = [(x2 - x1) / far, (y2 - y1) / far];
    const [tx, ty] = [x2 - ux * room, y2 - uy * room];
    context.moveTo(tx, ty);
    context.lineTo(tx - ux * size - uy * size * 0.42, ty - uy * size + ux * size * 0.42);
    context.lineTo(tx - ux * size + uy * size * 0.42, ty - uy * size - ux * size * 0.42);
    context.closePath();
  }

  #nodes(context, view, some = null) {
    const { data, colours, bucket } = this;
    const groups = Array.from({ length: STEPS + 1 }, () => []);
    const off = [];
    for (const i of some ?? this.order) {
      const [x, y] = [this.x[i] * view.scale + view.left, this.y[i] * view.scale + view.top];
      if (x < -20 || y < -20 || x > view.width + 20 || y > view.height + 20) continue;
      if (data.arms[i].status === "active") groups[bucket[i] + 1].push(i);
      else off.push(i);
    }
    const disc = (i) => {
      const [x, y, r] = [this.x[i] * view.scale + view.left, this.y[i] * view.scale + view.top, this.size(i)];
      context.moveTo(x + r, y);
      context.arc(x, y, r, 0, 2 * Math.PI);
    };
    const outlined = this.zoom > 0.32;
    context.lineWidth = 1;
    groups.forEach((group, level) => {
      if (group.length === 0) return;
      context.fillStyle = level === 0 ? colours.plain : colours.ramp[level - 1];
      context.beginPath();
      group.forEach(disc);
      context.fill();
      if (outlined) {
        context.strokeStyle = colours.outline;
        context.stroke();
      }
    });
    // paused arms are hollow with two bars, retired ones with a cross
    context.fillStyle = colours.ground;
    context.strokeStyle = colours.soft;
    context.lineWidth = 1.4;
    for (const i of off) {
      const [x, y, r] = [this.x[i] * view.scale + view.left, this.y[i] * view.scale + view.top, Math.max(3, this.size(i))];
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
      if (r < 3.5) continue;
      const half = 0.42 * r;
      context.beginPath();
      if (data.arms[i].status === "paused") {
        for (const side of [-0.4, 0.4]) {
          context.moveTo(x + side * half * 1.6, y - half);
          context.lineTo(x + side * half * 1.6, y + half);
        }
      } else {
        context.moveTo(x - half, y - half);
        context.lineTo(x + half, y + half);
        context.moveTo(x + half, y - half);
        context.lineTo(x - half, y + half);
      }
      context.stroke();
    }
  }

  #labels(context, view) {
    const { data, colours } = this;
    const spacing = Math.sqrt((view.width * view.height) / Math.max(1, data.arms.length)) * (view.scale / this.fitted);
    const every = spacing > 46;
    const important = [this.chosen, this.hover, ...data.last].filter((i) => i >= 0);
    // with a chosen arm, the names of a large graph are those of its neighbours
    const focused = this.chosen >= 0 && data.arms.length > FOCUS;
    const order = [...new Set([...important, ...this.#near, ...(focused ? [] : every ? this.order : this.order.slice(0, 12))])];
    const taken = new Map();
    const cell = 24;
    const cells = (box, action) => {
      for (let a = Math.floor(box.x / cell); a <= Math.floor((box.x + box.w) / cell); a++) {
        for (let b = Math.floor(box.y / cell); b <= Math.floor((box.y + box.h) / cell); b++) if (action(a * 100_000 + b)) return true;
      }
      return false;
    };
    /** The area of a box that others have, and whether any has a part of it. */
    const shared = (one, box) => Math.max(0, Math.min(box.x + box.w, one.x + one.w) - Math.max(box.x, one.x)) * Math.max(0, Math.min(box.y + box.h, one.y + one.h) - Math.max(box.y, one.y));
    const overlaps = (box) => cells(box, (key) => (taken.get(key) ?? []).some((one) => shared(one, box) > 0));
    const overlap = (box) => {
      const others = new Set();
      cells(box, (key) => void taken.get(key)?.forEach((one) => others.add(one)));
      return [...others].reduce((sum, one) => sum + shared(one, box), 0);
    };
    const take = (box) => cells(box, (key) => void (taken.has(key) ? taken.get(key).push(box) : taken.set(key, [box])));
    const details = spacing > 120;
    if (data.arms.length <= 400) {
      data.arms.forEach((_, i) => {
        const r = this.size(i) * 0.8;
        take({ x: this.toX(i) - r, y: this.toY(i) - r, w: 2 * r, h: 2 * r });
      });
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineJoin = "round";
    let written = 0;
    for (const i of order) {
      const [x, y] = [this.toX(i), this.toY(i)];
      if (x < -40 || y < -20 || x > view.width + 40 || y > view.height + 20) continue;
      const first = important.includes(i);
      context.font = `${first ? "600 " : ""}${LABEL}px ${colours.font}`;
      const text = clipped(data.arms[i].arm, first ? 28 : 18);
      const w = context.measureText(text).width + 4;
      const middle = first ? Math.max(w / 2, Math.min(view.width - w / 2, x)) : x;
      const more = details || i === this.chosen ? `${count(data.arms[i].plays)} / ${count(data.arms[i].outcomes)}` : "";
      const h = more ? 27 : 14;
      const room = this.size(i) + (first ? 8 : 4);
      const spots = [
        { x: middle - w / 2, y: y + room }, { x: middle - w / 2, y: y - room - h },
        { x: x + room, y: y - h / 2 }, { x: x - room - w, y: y - h / 2 },
      ].map((spot) => ({ ...spot, w, h }));
      let box = spots.find((one) => !overlaps(one));
      if (!box && first) box = spots.reduce((best, one) => (overlap(one) < overlap(best) ? one : best));
      if (!box) continue;
      take(box);
      if (++written > 400) break;
      this.#write(context, text, box.x + w / 2, box.y, colours.ink);
      if (more) {
        context.font = `11px ${colours.font}`;
        this.#write(context, more, box.x + w / 2, box.y + 14, colours.soft);
      }
    }
  }

  #write(context, text, x, y, colour) {
    context.strokeStyle = this.colours.ground;
    context.lineWidth = 3;
    context.globalAlpha = 0.85;
    context.strokeText(text, x, y);
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }

  /** Edges of the chosen arm: solid ones to arms that it reveals, dashed ones from arms that reveal it. */
  #chosenEdges(context) {
    const { data, colours, chosen } = this;
    if (chosen < 0) return;
    const view = { scale: this.scale, left: this.left, top: this.top, width: this.width, height: this.height };
    context.lineWidth = 1.8;
    for (let k = data.start[chosen]; k < data.start[chosen + 1]; k++) {
      const e = data.incident[k];
      const out = data.from[e] === chosen || !data.directed;
      context.strokeStyle = context.fillStyle = out ? colours.out : colours.into;
      context.globalAlpha = 0.4 + 0.6 * data.chance[e];
      context.setLineDash(out ? [] : [5, 3]);
      context.beginPath();
      this.#line(context, view, e);
      context.stroke();
      if (!data.directed) continue;
      context.beginPath();
      this.#arrow(context, view, e);
      context.fill();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** Rings of the arms that were played last, of the one under the pointer, and of the chosen one. */
  #rings(context) {
    const { data, colours, chosen, hover } = this;
    const ring = (i, beyond, width, colour) => {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.beginPath();
      context.arc(this.toX(i), this.toY(i), this.size(i) + beyond, 0, 2 * Math.PI);
      context.stroke();
    };
    data.last.forEach((i, k) => {
      context.globalAlpha = k === 0 ? 1 : 0.65;
      ring(i, 3, k === 0 ? 3 : 1.6, colours.played);
    });
    context.globalAlpha = 1;
    if (hover >= 0 && hover !== chosen) ring(hover, 2, 1.5, colours.soft);
    if (chosen >= 0) ring(chosen, 6, 2.2, colours.ink);
  }
}

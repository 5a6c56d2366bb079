// Computes a layout in the background: {count, edges} -> {x, y, done}, several times.

import { layout } from "./layout.js";

const BETWEEN = 120;

onmessage = ({ data: { count, edges } }) => {
  let shown = performance.now();
  let places = null;
  for (places of layout(count, edges)) {
    if (performance.now() - shown < BETWEEN) continue;
    postMessage({ ...places, done: false });
    shown = performance.now();
  }
  postMessage({ ...places, done: true });
};

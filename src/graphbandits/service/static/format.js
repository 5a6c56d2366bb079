// Numbers, times and names as text.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const DAY = 86400;

/** Characters that are invisible or change the direction of the text around them. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A name as one visible line: control characters are escaped, as on the command line. */
export function shown(name) {
  const text = String(name).replace(HIDDEN, escaped);
  return text === "" ? "(no name)" : text;
}

/** A text of the service: line breaks stay. */
export function prose(text) {
  return String(text).replace(HIDDEN, (character) => (character === "\n" ? character : escaped(character)));
}

/** A short form of a name for a drawing. */
export function clipped(name, most = 24) {
  const letters = [...shown(name)];
  return letters.length <= most ? letters.join("") : `${letters.slice(0, most - 1).join("")}…`;
}

/** Three significant digits. */
export function num(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  let text;
  if (size >= 1e9) text = value.toExponential(2).replace("e+", "e");
  else if (size >= 999.5) text = WHOLE.format(value);
  else if (size !== 0 && size < 1e-4) text = value.toExponential(1).replace(".0e", "e");
  else text = String(Number(value.toPrecision(3)));
  return text.replaceAll("-", "−");
}

/** A number of things; weights may make it fractional. */
export function count(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? WHOLE.format(value) : num(value);
}

/** A probability in per cent; 0 % and 100 % mean exactly that. */
export function percent(chance) {
  if (chance === null || chance === undefined) return "–";
  if (chance > 0 && chance < 0.0005) return "<\u00a00.1\u00a0%";
  if (chance >= 0.9995 && chance < 1) return ">\u00a099.9\u00a0%";
  const value = 100 * chance;
  const whole = (value >= 10 && value <= 90) || chance === 0 || chance === 1;
  return `${value.toFixed(whole ? 0 : 1)}\u00a0%`;
}

export function plural(number, word, words = `${word}s`) {
  return `${count(number)} ${number === 1 ? word : words}`;
}

/** A local time; with the date if it is not today. */
export function time(iso, now = new Date()) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return String(iso);
  const clock = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  if (moment.toDateString() === now.toDateString()) return clock;
  return `${dayOf(moment)} ${clock}`;
}

/** The local date, in the order of ISO 8601. */
export function day(iso) {
  const moment = new Date(iso);
  return Number.isNaN(moment.getTime()) ? String(iso) : dayOf(moment);
}

function dayOf(moment) {
  const two = (number) => String(number).padStart(2, "0");
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
}

/** A duration with one unit. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const past = Math.max(0, seconds);
  if (past < 60) return `${Math.floor(past)}\u00a0s`;
  if (past < 3600) return `${Math.floor(past / 60)}\u00a0min`;
  if (past < DAY) return `${(past / 3600).toFixed(past < 36000 ? 1 : 0)}\u00a0h`;
  return `${(past / DAY).toFixed(past < 10 * DAY ? 1 : 0)}\u00a0d`;
}

export function bytes(size) {
  if (size < 1000) return `${size} bytes`;
  if (size < 1e6) return `${(size / 1e3).toFixed(0)} kB`;
  if (size < 1e9) return `${(size / 1e6).toFixed(1)} MB`;
  return `${(size / 1e9).toFixed(2)} GB`;
}

/** Round values for the ticks of an axis, from low to high. */
export function ticks(low, high, most = 5) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => span / one <= most + 1e-9);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

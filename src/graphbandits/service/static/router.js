// Addresses of the views: #/agents/NAME/TAB/ITEM?arm=ARM

import { useEffect, useState } from "./vendor/htm-preact-standalone.js";

export const TABS = [
  ["overview", "Overview"],
  ["decisions", "Decisions"],
  ["arms", "Arms"],
  ["trend", "Trend"],
  ["outcomes", "Outcomes"],
  ["health", "Health"],
  ["log", "Log"],
];

/** Read an address: {view: "agents"}, {view: "agent", name, tab, item, arm} or {view: "unknown"}. */
export function parse(hash) {
  const [place, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  let segments;
  try {
    segments = place.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return { view: "unknown" };
  }
  if (segments.length === 0 || (segments.length === 1 && segments[0] === "agents")) return { view: "agents" };
  const [first, name, tab = "overview", item = null] = segments;
  if (first !== "agents" || segments.length > 4 || !TABS.some(([known]) => known === tab)) return { view: "unknown" };
  return { view: "agent", name, tab, item, arm: new URLSearchParams(query).get("arm") };
}

/** The address of a view of an agent. */
export function agentAddress(name, tab = "overview", item = null, arm = null) {
  const segments = ["agents", name, ...(tab === "overview" && item === null ? [] : [tab]), ...(item === null ? [] : [item])];
  const query = arm === null ? "" : `?${new URLSearchParams([["arm", arm]])}`;
  return `#/${segments.map(encode).join("/")}${query}`;
}

function encode(text) {
  return encodeURIComponent(String(text).toWellFormed());
}

/** Change the address without a new entry in the history of the browser. */
export function replaceAddress(address) {
  if (location.hash === address) return;
  history.replaceState(null, "", address);
  dispatchEvent(new Event("hashchange"));
}

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parse(hash);
}

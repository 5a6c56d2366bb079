// The dashboard: header, sign-in and the choice of the view.

import { html, render, useEffect, useRef, useState } from "./vendor/htm-preact-standalone.js";
import { get, hasToken, onRefused, setToken } from "./api.js";
import { Loading, Problem } from "./components.js";
import { shown } from "./format.js";
import { useRoute } from "./router.js";
import { AgentView } from "./views/agent.js";
import { AgentsView } from "./views/agents.js";
import { SignIn } from "./views/sign-in.js";

const THEMES = [
  ["system", "Theme: system"],
  ["light", "Theme: light"],
  ["dark", "Theme: dark"],
];

function themeChoice() {
  try {
    return localStorage.getItem("graphbandits-theme") ?? "system";
  } catch {
    return "system";
  }
}

function ThemeSwitch() {
  const [choice, setChoice] = useState(themeChoice);
  const change = (event) => {
    const value = event.target.value;
    try {
      if (value === "system") localStorage.removeItem("graphbandits-theme");
      else localStorage.setItem("graphbandits-theme", value);
    } catch {
      // storage may be forbidden: the choice lasts as long as the page
      document.documentElement.dataset.theme = value === "system" ? "light" : value;
    }
    setChoice(value);
    dispatchEvent(new Event("themechoice"));
  };
  return html`<label class="theme"><span class="spoken">Colours</span>
    <select value=${choice} onChange=${change}>
      ${THEMES.map(([value, label]) => html`<option value=${value} selected=${value === choice}>${label}</option>`)}
    </select></label>`;
}

/** The name of a file without its folders; an address of a database as it is. */
function placeName(store) {
  return store.includes("://") ? store : store.split(/[\\/]/).at(-1);
}

function Header({ who, route, signOut }) {
  return html`<header class="top">
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    }}>Skip to the content</a>
    <a class="brand" href="#/agents" aria-label="graphbandits: all agents"><img src="static/icon.svg" alt="" width="22" height="22" /><span>graphbandits</span></a>
    <nav class="crumbs" aria-label="Place">
      <a href="#/agents" aria-current=${route.view === "agents" ? "page" : undefined}>Agents</a>
      ${route.view === "agent" && html`<span aria-hidden="true">/</span><bdi class="name here">${shown(route.name)}</bdi>`}
    </nav>
    <div class="session">
      ${who && html`<span class="store" title=${shown(who.store)}>${shown(placeName(who.store))}</span>
        <span class="role" title=${who.authentication ? `Role of the token${who.token ? ` '${shown(who.token)}'` : ""}` : "No token is needed on this address"}>${who.role}</span>`}
      <${ThemeSwitch} />
      ${hasToken() && who && html`<button type="button" onClick=${signOut}>Sign out</button>`}
    </div>
  </header>`;
}

function App() {
  const route = useRoute();
  const [session, setSession] = useState({ state: "asking", who: null, problem: null });
  const main = useRef(null);

  const ask = async () => {
    try {
      const who = await get("whoami");
      setSession({ state: "open", who, problem: null });
    } catch (problem) {
      if (problem.status !== 401) setSession({ state: "failed", who: null, problem });
    }
  };
  useEffect(() => {
    onRefused((problem) => {
      const sent = hasToken();
      setToken("");
      setSession({ state: "refused", who: null, problem: sent ? problem : null });
    });
    ask();
  }, []);

  const place = route.view === "agent" ? route.name : route.view;
  const previous = useRef(place);
  useEffect(() => {
    document.title = route.view === "agent" ? `${shown(route.name)} – graphbandits` : "Agents – graphbandits";
    if (previous.current !== place) main.current?.focus({ preventScroll: true });
    previous.current = place;
  }, [place]);

  const signIn = async (token) => {
    setToken(token);
    setSession({ state: "asking", who: null, problem: null, again: true });
    await ask();
  };
  const signOut = () => {
    setToken("");
    setSession({ state: "asking", who: null, problem: null });
    ask(); // a service without authentication needs no token
  };

  let content;
  if (session.state === "refused" || session.again) {
    content = html`<${SignIn} key="sign-in" problem=${session.problem} signIn=${signIn} busy=${session.state === "asking"} />`;
  } else if (session.state === "asking") content = html`<div class="page"><${Loading} what="the dashboard" /></div>`;
  else if (session.state === "failed") {
    content = html`<div class="page"><h1>The dashboard cannot start</h1><${Problem} error=${session.problem} again=${ask} /></div>`;
  } else if (route.view === "agents") content = html`<${AgentsView} who=${session.who} />`;
  else if (route.view === "agent") content = html`<${AgentView} key=${route.name} route=${route} who=${session.who} />`;
  else {
    content = html`<div class="page"><h1>This page does not exist</h1>
      <p>The address has no view of this dashboard. <a href="#/agents">Show the agents</a>.</p></div>`;
  }
  return html`<${Header} who=${session.who} route=${session.state === "open" ? route : { view: "none" }} signOut=${signOut} />
    <main id="main" ref=${main} tabindex="-1">${content}</main>
    <footer class="bottom">
      ${session.who && html`<span>graphbandits ${session.who.version}</span>`}
      <a href="openapi.json">HTTP API</a>
    </footer>`;
}

render(html`<${App} />`, document.getElementById("app"));

// The form that takes a token.

import { html, useEffect, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { Command, Problem } from "../components.js";

export function SignIn({ problem, signIn, busy }) {
  const [empty, setEmpty] = useState(false);
  const input = useRef(null);
  useEffect(() => input.current.focus(), []);
  const submit = (event) => {
    event.preventDefault();
    const token = input.current.value.trim();
    setEmpty(token === "");
    if (token) {
      input.current.value = "";
      signIn(token);
    }
    input.current.focus();
  };
  return html`<div class="page narrow">
    <h1>Sign in</h1>
    <p>This service needs a token. It starts with <code>gb_</code>. This tab keeps it until it is closed.</p>
    <form class="sign-in" onSubmit=${submit}>
      <label for="token">Token</label>
      <div class="line">
        <input id="token" ref=${input} type="password" autocomplete="off" autocapitalize="off" spellcheck=${false}
          aria-invalid=${empty || problem ? "true" : undefined} aria-describedby="token-problem" />
        <button type="submit" class="primary" aria-busy=${busy}>Sign in</button>
      </div>
      <div id="token-problem">
        ${empty ? html`<p class="field-problem" role="alert">Enter a token.</p>` : html`<${Problem} error=${problem} />`}
      </div>
    </form>
    <p class="quiet">The administrator of the service creates tokens on the command line:</p>
    <${Command}>graphbandits token add STORE --name dashboard --role read<//>
  </div>`;
}

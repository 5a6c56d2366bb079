// Sets light or dark before the first paint; main.js changes the choice.
"use strict";
(() => {
  const media = matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      return localStorage.getItem("graphbandits-theme");
    } catch {
      return null; // storage may be forbidden
    }
  }

  function apply() {
    const choice = chosen();
    const dark = choice === "dark" || (choice !== "light" && media.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    dispatchEvent(new Event("themechange"));
  }

  media.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("themechoice", apply);
  apply();
})();

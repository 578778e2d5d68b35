// Light or dark: as the system says, until the person says otherwise.

import { icon } from "./dom.js";

export function startTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch { /* no storage: the choice lasts as long as the page */ }
  const apply = () => {
    const dark = chosen ? chosen === "dark" : system.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
    button.replaceChildren(icon(dark ? "sun" : "moon"));
  };
  system.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", chosen);
    } catch { /* as above */ }
    apply();
  });
  apply();
}

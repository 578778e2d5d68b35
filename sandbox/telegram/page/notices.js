// Toasts, alerts, questions and the picture viewer.

import { byId, el } from "./dom.js";

/** Shows a line that goes away by itself. */
export function toast(text) {
  const node = el("p", { class: "toast" }, text);
  byId("toasts").replaceChildren(node);
  const wait = 2500 + 40 * text.length;
  setTimeout(() => node.classList.add("leaving"), wait);
  setTimeout(() => node.remove(), wait + 300);
}

/** Puts text on the clipboard and says so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied to the clipboard");
  } catch {
    toast("The browser did not allow copying");
  }
}

/** Asks or tells something; resolves with the value of the button, "" when dismissed. */
export function ask(text, buttons) {
  const dialog = byId("dialog");
  if (dialog.open) dialog.close("");
  dialog.className = "question";
  dialog.setAttribute("aria-labelledby", "dialog-text");
  dialog.replaceChildren(
    el("p", { id: "dialog-text" }, text),
    el("div", { class: "row" }, buttons.map(({ label, value, primary }) =>
      el("button", { type: "button", class: primary ? "primary" : "plain", onclick: () => dialog.close(value) }, label))),
  );
  return show(dialog);
}

/** Shows a picture large. */
export function viewPicture(src, alt) {
  const dialog = byId("dialog");
  dialog.className = "viewer";
  dialog.replaceChildren(
    el("p", { id: "dialog-text", class: "hidden" }, alt),
    el("button", { type: "button", class: "picture", "aria-label": "Close the picture", onclick: () => dialog.close("") }, el("img", { src, alt })),
  );
  return show(dialog);
}

function show(dialog) {
  dialog.returnValue = "";
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

// Small helpers for building the page. Text always goes in as text, never as markup.

/** Makes an element: attributes (null and false are left out), listeners as on*, then children. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const paths = {
  reply: "M10 8.500V4.500L3 11.500l7 7v-4.100c5 0 8.500 1.600 11 5.100-1-5-4-10-11-11z",
  send: "M3.4 20.4 21 12 3.4 3.6 3.4 10.1 15 12 3.4 13.9z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v3h-2zm0 19h2v3h-2zM1 11h3v2H1zm19 0h3v2h-3zM4.2 2.8l2.1 2.1-1.4 1.4-2.1-2.1zm14.9 14.9 2.1 2.1-1.4 1.4-2.1-2.1zM2.8 19.8l2.1-2.1 1.4 1.4-2.1 2.1zM17.7 4.9l2.1-2.1 1.4 1.4-2.1 2.1z",
  more: "M12 4.5a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6zm0 5.7a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6zm0 5.7a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6z",
  out: "M8 5h11v11h-2.2V8.8L6.6 19 5 17.4 15.2 7.2H8z",
  copy: "M8 3h11a2 2 0 0 1 2 2v11h-2V5H8zM5 7h9a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V9c0-1.1.9-2 2-2zm0 2v10h9V9z",
  close: "M6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.600z",
  keys: "M3 5h18v14H3zm2 2v10h14V7zm1.5 1.800h2.200V11H6.500zm4.4 0h2.200V11h-2.200zm4.4 0h2.200V11h-2.200zM8 13.500h8v2H8z",
  down: "M12 16.5 4.5 9 6 7.500l6 6 6-6L19.5 9z",
  file: "M6 2h8l5 5v15H6zm7 1.800V8h4.200zM8.5 12h7v1.600h-7zm0 3.400h7V17h-7z",
  person: "M12 12a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zm0 2c-4.4 0-8 2.2-8 5v2h16v-2c0-2.8-3.6-5-8-5z",
};

/** An icon by name; it says nothing to screen readers. */
export function icon(name) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}

export const byId = (id) => document.getElementById(id);

/** "14:05" of a unix time in seconds: 24 hours everywhere, as the bot and the signing page write times. */
export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", { timeStyle: "short" });
}

/** "Today", "Yesterday" or "14 March" of a unix time in seconds. */
export function day(seconds) {
  const then = new Date(seconds * 1000);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(then).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return then.toLocaleDateString("en-GB", { day: "numeric", month: "long" });
}

export function initials(user) {
  return ((user.first_name?.[0] ?? "?") + (user.last_name?.[0] ?? "")).toUpperCase();
}

// A text and its entities, as DOM. Offsets are UTF-16 units, which is what JavaScript counts too.

import { el } from "./dom.js";
import { copy } from "./notices.js";

/** Gives the nodes of text with its entities. on.command(text) is called for a tapped /command. */
export function formatted(text, entities = [], on = {}) {
  const usable = entities
    .filter((e) => e.length > 0 && e.offset >= 0 && e.offset + e.length <= text.length)
    .map((e) => ({ ...e, end: e.offset + e.length }))
    .sort((a, b) => a.offset - b.offset || b.end - a.end);
  return part(text, 0, text.length, usable, on);
}

// Entities that are blocks of their own: the line break behind one is not an empty line, as in Telegram.
const blocks = new Set(["blockquote", "expandable_blockquote", "pre"]);

// Renders text[from, to) with the entities that lie in it; one that crosses another's end is cut there.
function part(text, from, to, entities, on) {
  const nodes = [];
  let at = from;
  const queue = [...entities];
  while (queue.length > 0) {
    const e = queue.shift();
    if (e.offset > at) nodes.push(text.slice(at, e.offset));
    const inside = [];
    while (queue.length > 0 && queue[0].offset < e.end) {
      const inner = queue.shift();
      if (inner.end > e.end) {
        queue.unshift({ ...inner, offset: e.end });
        inside.push({ ...inner, end: e.end });
        break;
      }
      inside.push(inner);
    }
    nodes.push(entity(e, text.slice(e.offset, e.end), part(text, e.offset, e.end, inside, on), on));
    at = e.end;
    if (blocks.has(e.type) && text[at] === "\n" && at < to && queue[0]?.offset !== at) at++; // a block ends its line itself
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

function entity(e, raw, children, on) {
  switch (e.type) {
    case "bold": return el("strong", {}, children);
    case "italic": return el("em", {}, children);
    case "underline": return el("u", {}, children);
    case "strikethrough": return el("s", {}, children);
    case "blockquote":
    case "expandable_blockquote": return el("blockquote", {}, children);
    case "code": return copyable("code", raw, "Copy");
    case "pre": return copyable("pre", raw, "Copy this block");
    case "url": return link(/^[a-z]+:\/\//i.test(raw) ? raw : `http://${raw}`, children, on);
    case "text_link": return link(e.url, children, on);
    case "email": return el("a", { href: `mailto:${raw}` }, children);
    case "bot_command":
      return el("button", { type: "button", class: "inline-link", onclick: () => on.command?.(raw) }, children);
    case "spoiler": return spoiler(children);
    case "mention":
    case "hashtag":
    case "cashtag":
    case "text_mention": return el("span", { class: "mention" }, children);
    default: return el("span", {}, children);
  }
}

function link(url, children, on) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    return el("span", {}, children);
  }
  if (!["http:", "https:", "tg:"].includes(parsed.protocol)) return el("span", {}, children);
  return el("a", { href: parsed.href, target: "_blank", rel: "noopener noreferrer", onclick: (event) => on.link?.(event, parsed) }, children);
}

function copyable(tag, raw, label) {
  return el(tag, {
    class: "copyable", role: "button", tabindex: "0", title: label,
    onclick: () => copy(raw),
    onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        copy(raw);
      }
    },
  }, raw);
}

function spoiler(children) {
  const reveal = (event) => {
    if (node.classList.contains("shown")) return;
    if (event.type === "keydown" && event.key !== "Enter") return;
    event.preventDefault();
    node.classList.add("shown");
    node.removeAttribute("role");
    node.removeAttribute("aria-label");
  };
  const node = el("span", { class: "spoiler", role: "button", tabindex: "0", "aria-label": "Hidden text, press to show", onclick: reveal, onkeydown: reveal }, el("span", {}, children));
  return node;
}

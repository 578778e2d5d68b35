// Whose address the faucet proposes: reads what the bot told a person in their own chat.

const isAddress = (line) => /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(line ?? "");

/**
 * The address that the bot has last told a person to be the one their commands use, or "". Only lines that
 * say so count: a receipt names other people's addresses too. A guess for convenience: the field can be
 * edited.
 */
export function ownAddress(messages) {
  const told = (m) => m.edit_date ?? m.date ?? 0; // a message that was edited says now what it says
  const heard = [...messages].filter((m) => m.from?.is_bot).sort((a, b) => told(a) - told(b) || a.message_id - b.message_id);
  return heard.reduce((own, m) => after(own, m.text ?? m.caption ?? ""), "");
}

/** What is known after one more text. */
function after(own, text) {
  const lines = text.split("\n");
  if (/^You have no wallet here yet|^Your data is deleted/m.test(text)) return "";
  lines.forEach((line, i) => {
    const next = lines[i + 1];
    if (!isAddress(next)) return;
    if (/^(Your wallet|Your address)\b/i.test(line) || /^Your commands (now|still) use$/i.test(line)) own = next;
    else if (/\bWallet connected$/i.test(line) && (own === "" ? !/\/wallet use|commands still use/i.test(text) : /your commands now use it/i.test(text))) own = next;
    else if (/^Disconnected$/i.test(line) && next === own) own = "";
  });
  return own;
}

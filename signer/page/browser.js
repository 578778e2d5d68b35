// What kind of browser this is: Telegram's own in-app browser, one without the needed cryptography,
// or one that will do.

/**
 * True in Telegram's in-app browsers, by the objects they inject or the name they carry. Their
 * storage is apart from the person's browser and goes with the app.
 */
export function insideTelegram(scope = globalThis) {
  return ['TelegramWebview', 'TelegramWebviewProxy', 'TelegramWebviewProxyProto'].some((name) => name in scope) ||
    /\bTelegram\b|\bTelegram-(Android|iOS)\b/i.test(scope.navigator?.userAgent ?? '');
}

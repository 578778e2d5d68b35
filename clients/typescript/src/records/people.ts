// People who use the bot: messages to them, commands for them, and what they are notified about. Each type with the reader that checks it in a response.

import type { Fields } from "./fields.js";

/** Which notifications the key's owner gets in chat, or which events about a person an app receives. */
export interface Notifications {
  enabled: boolean;
  /** Names such as "transaction.received", wildcards such as "price.*". */
  events: string[];
  updatedAt: Date | undefined;
}

/** New notification settings. An empty list of events turns all of them off. */
export interface NotificationSettings {
  enabled: boolean;
  events: readonly string[];
}

/** A message to a person's chat. */
export interface Message {
  /** The person's Telegram id, in digits. */
  chatId: string;
  /** 1 to 4000 characters. */
  message: string;
  parseMode?: "" | "Markdown" | "MarkdownV2" | "HTML";
}

/** A message to the chat of the API key's owner. */
export type OwnerMessage = Omit<Message, "chatId">;

/** A message that Telegram accepted. */
export interface SentMessage {
  messageId: number;
  sentAt: Date | undefined;
}

/** A slash command that runs for a person. */
export interface Command {
  chatId: string;
  /** "/wallet balance". */
  command: string;
  /** Whether the reply is returned here only. Prompts to confirm are always posted. */
  silent?: boolean;
}

/** A slash command that runs for the API key's owner. */
export type OwnerCommand = Omit<Command, "chatId">;

/** A command that ran, with its reply. */
export interface ExecutedCommand {
  command: string;
  /** Markdown. */
  response: string;
  executedAt: Date | undefined;
}

/** A user of the bot. */
export interface BotUser {
  telegramId: string;
  /** With its @; "" when unset. */
  username: string;
  registeredAt: Date | undefined;
  walletConnected: boolean;
  /** As setUserNotifications set it; true until then. */
  notificationsEnabled: boolean;
}

/** Readers of these types from `data` of a response. They throw Malformed. */
export const peopleReaders = {
  notifications: (f: Fields): Notifications => ({ enabled: f.flag("enabled"), events: f.texts("events"), updatedAt: f.time("updated_at") }),
  sentMessage: (f: Fields): SentMessage => ({ messageId: f.count("message_id"), sentAt: f.time("sent_at") }),
  executedCommand: (f: Fields): ExecutedCommand => ({ command: f.some("command"), response: f.text("response"), executedAt: f.time("executed_at") }),
  botUser: (f: Fields): BotUser => ({
    telegramId: f.some("telegram_id"), username: f.text("username"), registeredAt: f.time("registered_at"),
    walletConnected: f.flag("wallet_connected"), notificationsEnabled: f.flag("notifications_enabled"),
  }),
};
